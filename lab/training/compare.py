"""Two networks over the same positions: their evaluations, the moves they prefer, the results they foretell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.walk import QUIET_SCORE
from lab.training.evaluate import rank_moves
from lab.training.samples import Sample
from lab.training.tally import BINS, add_points, fitted_scale
from worker.nnue import Network, NnueState, centipawns, evaluate_full
from worker.shogi import move_to_usi

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
