"""Two networks over the same positions: the difference of their evaluations, their rankings of the teacher's moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.nnue import Network, NnueState, centipawns, evaluate_full
from worker.selfplay.walk import whole_move
from worker.shogi import Position, move_to_usi
from worker.training.corpus import CorpusError
from worker.training.evaluate import rank_moves
from worker.training.packed import unpacked_position
from worker.training.positions import walk
from worker.training.shard import ShardError, read_shard

_MOST_SHARDS: Final = 8
_PLIES: Final = (4, 100)
DECIDED: Final = 3000
"""Centipawns, beyond which all scores are alike."""

Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    """A position, and where it is from."""

    position: Position
    move: int
    """The teacher's; 0: there is none."""
    where: str


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
            found.append(Sample(position, 0, f"random game {len(found) + 1}, ply {plies}"))
    return found


def teacher_samples(files: Sequence[Path], count: int) -> list[Sample]:
    """Quiet positions of teacher games, from some of the shards, evenly.

    Raises:
        CorpusError: a shard is damaged; the text names it.
        OSError: one cannot be read.
    """
    chosen = [files[place] for place in sorted({i * len(files) // _MOST_SHARDS for i in range(_MOST_SHARDS)})]
    found: list[Sample] = []
    for number, path in enumerate(chosen):
        wanted = count * (number + 1) // len(chosen) - count * number // len(chosen)
        try:
            shard = read_shard(path)
            every = max(1, shard.header["positions"] // (2 * max(1, wanted)))
            found += _of_shard(shard, path.name, wanted, every)
        except ShardError as error:
            raise CorpusError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    return found


def _of_shard(shard: Any, name: str, wanted: int, every: int) -> list[Sample]:
    found: list[Sample] = []
    seen = 0
    for number, walked in enumerate(walk(shard, records=True)):
        assert walked.records is not None
        for place in np.flatnonzero(walked.quiet):
            seen += 1
            if seen % every:
                continue
            if len(found) == wanted:
                return found
            record = walked.records[place]
            position = unpacked_position(record["sfen"].tobytes(), int(record["game_ply"]))
            move = int(whole_move(position.record, int(walked.game.moves[place])))
            found.append(Sample(position, move, f"{name}, game {number}, move {int(record['game_ply'])}"))
    return found


def evaluations(network: Network, samples: Sequence[Sample]) -> Values:
    """Centipawns from the side to move, int64 [n]."""
    state = NnueState(network)
    return np.array(
        [int(centipawns(evaluate_full(one.position.record, state.record), network.fv_scale)) for one in samples],
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
        count = int(rank_moves(one.position.record, state.record, one.move, told))
        if count < 2:
            continue
        above = float(told[0]) + float(told[1]) / 2
        pairs += count - 1
        worse += count - 1 - above
        ranks.append(1 + above)
    if not ranks:
        return None
    return Ranking(worse / pairs, float(np.mean(ranks)), float(np.mean(np.array(ranks) == 1)))


def comparison(first: Values, second: Values) -> dict[str, float | int | None]:
    """Figures of two networks' evaluations, as plain values; scores beyond `DECIDED` count as that."""
    a, b = (values.clip(-DECIDED, DECIDED).astype(np.float64) for values in (first, second))
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
    apart = np.abs(first.clip(-DECIDED, DECIDED) - second.clip(-DECIDED, DECIDED))
    return [int(place) for place in np.argsort(-apart, kind="stable")[:count]]


def played_text(one: Sample) -> str:
    """The teacher's move in USI; empty where there is none."""
    return move_to_usi(one.move) if one.move else ""
