"""Positions over which networks are compared: of teacher games, or of random games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.positions import BINS, add_points, fitted_scale, walk
from lab.selfplay.shard import ShardError, TeacherGame, read_shard, unpacked_position
from lab.selfplay.walk import QUIET_SCORE, whole_move
from lab.training.corpus import CorpusError, is_for_validation
from lab.training.kernels import rank_moves
from lab.training.train_settings import HELD_OUT
from worker.nnue import Network, NnueState, centipawns, evaluate_full
from worker.shogi import Position, move_to_usi

_MOST_SHARDS: Final = 40
_PLIES: Final = (4, 100)


@dataclass(frozen=True, slots=True)
class Sample:
    """A position, and where it is from. It is kept as text: a `Position` takes 300 KB.

    Attributes:
        sfen: the position.
        ply: number of the move that is to be made.
        where: game and move, for a reader.
        move: the teacher's; 0: there is none.
        points: of the side to move in that game, 0, 1/2 or 1; None: the game has no result.
        is_held_out: no network that was trained with the usual share for validation has learned from the game.
    """

    sfen: str
    ply: int
    where: str
    move: int = 0
    points: float | None = None
    is_held_out: bool = False

    def position(self) -> Position:
        """Make the position."""
        return Position.from_sfen(self.sfen)


def random_samples(count: int, seed: int = 1) -> list[Sample]:
    """Positions of random games, one of each; the same for the same arguments."""
    rng = np.random.Generator(np.random.PCG64(seed))
    found: list[Sample] = []
    while len(found) < count:
        position = Position.startpos()
        plies = int(rng.integers(*_PLIES))
        for _ in range(plies):
            moves = position.legal_moves()
            if not moves:
                break
            position.push(moves[int(rng.integers(len(moves)))])
        if not position.in_check() and not position.is_mated():
            found.append(Sample(position.sfen(), plies + 1, f"random game {len(found) + 1}, ply {plies}"))
    return found


def teacher_samples(files: Sequence[Path], count: int) -> list[Sample]:
    """Quiet positions of teacher games, from some of the shards, evenly.

    As many as there are come from games that `gougi train` holds out, so that no network has learned from them.

    Raises:
        CorpusError: a shard is damaged; the text names it.
        OSError: one cannot be read.
    """
    chosen = [files[place] for place in sorted({i * len(files) // _MOST_SHARDS for i in range(_MOST_SHARDS)})]
    found: list[Sample] = []
    for held_out in (True, False):
        wanted = count - len(found)
        if wanted:
            found += _evenly([one for path in chosen for one in _of_shard(path, held_out, wanted)], wanted)
    return found


def _of_shard(path: Path, held_out: bool, most: int) -> list[Sample]:
    """Quiet positions of the games that are held out, or of the others: all, or ``most`` and evenly."""

    def is_wanted(game: TeacherGame) -> bool:
        return is_for_validation(game, HELD_OUT) is held_out

    found: list[Sample] = []
    try:
        for walked in walk(read_shard(path), records=True, wanted=is_wanted):
            assert walked.records is not None
            for place in np.flatnonzero(walked.quiet):
                record = walked.records[place]
                ply = int(record["game_ply"])
                position = unpacked_position(record["sfen"].tobytes(), ply)
                move = int(whole_move(position.record, int(walked.game.moves[place])))
                points = (int(record["game_result"]) + 1) / 2
                where = f"{path.name}, game {walked.number}, move {ply}"
                found.append(Sample(position.sfen(), ply, where, move, points, held_out))
    except ShardError as error:
        raise CorpusError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return _evenly(found, most)


def _evenly(samples: list[Sample], count: int) -> list[Sample]:
    """At most ``count`` of them."""
    if len(samples) <= count:
        return samples
    return [samples[i * len(samples) // count] for i in range(count)]


LATE_PLY: Final = 100
"""The first move of what counts as the late part of a game."""
_LEAST: Final = 1e-6
"""A probability that a loss takes for 0, so that one position cannot be worth more than all others."""

Values = npt.NDArray[np.int64]


def evaluations(network: Network, samples: Sequence[Sample]) -> Values:
    """Centipawns from the side to move, int64 [n]."""
    state = NnueState(network)
    return np.array(
        [int(centipawns(evaluate_full(one.position().record, state.record), network.fv_scale)) for one in samples],
        np.int64,
    )


@dataclass(frozen=True, slots=True)
class Ranking:
    """A network's ranking of the moves that the teacher played, by its evaluation after each, without a search."""

    pair_rate: float
    """Share of the other moves that it evaluates as worse than the one played; equal ones count half."""
    mean_rank: float
    """Mean rank of the move played; 1: the best."""
    first: float
    """Share of the moves played that it ranks first, alone."""


def ranking(network: Network, samples: Sequence[Sample]) -> Ranking | None:
    """The ranking of the samples' moves; None: none has a move with another beside it."""
    state = NnueState(network)
    told = np.zeros(2, np.int64)
    pairs = worse = 0.0
    ranks: list[float] = []
    for one in samples:
        if not one.move:
            continue
        count = int(rank_moves(one.position().record, state.record, one.move, told))
        if count < 2:
            continue
        above = float(told[0]) + float(told[1]) / 2
        pairs += count - 1
        worse += count - 1 - above
        ranks.append(1 + above)
    if not ranks:
        return None
    return Ranking(worse / pairs, float(np.mean(ranks)), float(np.mean(np.array(ranks) == 1)))


@dataclass(frozen=True, slots=True)
class ResultLoss:
    """The misfit of a network's evaluations to the results of the games that the positions are from.

    A position counts -p log q - (1 - p) log(1 - q), with the points p of the side to move and
    q = 1 / (1 + exp(-evaluation / scale)). Chance alone has 0.693.

    Attributes:
        scale: centipawns, the one that fits best.
        loss: mean over all positions, in nats.
        early, late: mean over those before and from move `LATE_PLY` on; None where there is none.
    """

    scale: float
    loss: float
    early: float | None
    late: float | None


def result_loss(values: Values, samples: Sequence[Sample]) -> ResultLoss | None:
    """Measure evaluations (int64 [n], centipawns) of samples against the results of their games.

    Returns:
        None: no sample has a result, or the evaluations explain nothing.
    """
    known = np.array([one.points is not None for one in samples], bool)
    points = np.array([one.points for one in samples if one.points is not None], np.float64)
    plies = np.array([one.ply for one in samples], np.int64)[known]
    evaluated = values[known].clip(-QUIET_SCORE, QUIET_SCORE)
    weights, sums = np.zeros(BINS), np.zeros(BINS)
    add_points(weights, sums, evaluated, np.round(2 * points - 1).astype(np.int8))
    scale = fitted_scale(weights, sums)
    if scale is None:
        return None
    chance = np.clip(1 / (1 + np.exp(-evaluated / scale)), _LEAST, 1 - _LEAST)
    losses = -(points * np.log(chance) + (1 - points) * np.log(1 - chance))
    early, late = (float(part.mean()) if len(part) else None for part in _parted(losses, plies < LATE_PLY))
    return ResultLoss(scale, float(losses.mean()), early, late)


def _parted(values: npt.NDArray[np.float64], first: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.float64], ...]:
    return values[first], values[~first]


def comparison(first: Values, second: Values) -> dict[str, float | int | None]:
    """Figures of two networks' evaluations, as plain values; scores beyond `QUIET_SCORE` count as that."""
    a, b = (values.clip(-QUIET_SCORE, QUIET_SCORE).astype(np.float64) for values in (first, second))
    spread = float(a.std() * b.std())
    correlation = float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread else None
    square = float((a * a).sum())
    return {
        "positions": len(a),
        "rms": float(np.sqrt(((a - b) ** 2).mean())),
        "mean": float((b - a).mean()),
        "correlation": correlation,
        "slope": float((a * b).sum() / square) if square else None,
        "same_side": float((np.sign(a) == np.sign(b)).mean()),
        "deviation_a": float(a.std()),
        "deviation_b": float(b.std()),
    }


def most_different(first: Values, second: Values, count: int) -> list[int]:
    """The places of the positions over which they differ most, the first one most."""
    apart = np.abs(first.clip(-QUIET_SCORE, QUIET_SCORE) - second.clip(-QUIET_SCORE, QUIET_SCORE))
    return [int(place) for place in np.argsort(-apart, kind="stable")[:count]]


def played_text(one: Sample) -> str:
    """The teacher's move in USI; empty where there is none."""
    return move_to_usi(one.move) if one.move else ""
