"""The strength of a player: virtual games, as Qhapaq's ELQ plays them, between players known by their losses. Pure.

A virtual game is a walk of the score from 0. The side to move draws one of its losses in the band that it is in, and
the score falls by that much for it; who is `DECIDED` ahead has won. So a player is strong who loses little where it
matters. The walk is a Markov chain on scores, and its expected result is solved for, not played out.

Virtual games say who is stronger; how many Elo one of their wins is worth would be a guess. So they are only used to
find the equal: of the reference players of a `Calibration` (our own searcher at several nodes a move, with Elo by real
games among them) the one against whom a player would score 50 %. Without a calibration for the analysis at hand there
is the virtual score between the players, and no Elo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from master.analysis.statistics import BANDS, band

DECIDED: Final = 1500
"""Centipawns ahead at which a virtual game is won."""
LEAST_MOVES: Final = 20
"""Number of moves below which nothing is said of a player."""
_DRAW: Final = 1 / 400
"""The chance of each ply that a virtual game ends there as a draw: two players who lose nothing come to an end too."""
_RESAMPLES: Final = 100
_STEP: Final = 25
"""Centipawns between two scores of the walk; a loss between two steps is shared out over both, its mean kept."""
_SCORES: Final = np.arange(_STEP - DECIDED, DECIDED, _STEP)
_BAND_OF: Final = np.array([band(int(score)) for score in _SCORES])
_FALL: Final = np.arange(len(_SCORES))[:, None] - np.arange(len(_SCORES))[None, :]
"""Number of steps from one score down to another."""

Losses = Sequence[tuple[int, int]]
"""Band and loss in centipawns of each move."""
_Moves = np.ndarray[Any, np.dtype[np.int64]]
"""As `Losses`: (n, 2)."""
_Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Level:
    """A reference player: our own searcher at a number of nodes a move."""

    nodes: int
    elo: float
    """By real games between neighbouring levels; the lowest level has 0."""
    losses: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Reference players, analysed as the players at hand are."""

    net: str
    """The first 16 hex digits of the SHA-256 of the analysing network."""
    nodes_per_move: int
    """Searched by the analysis, by all nodes together."""
    levels: tuple[Level, ...]
    """The weakest first; at least two."""

    def fits(self, net: str, nodes_per_move: float) -> bool:
        """Whether an analysis with that network and effort measures losses on the same scale: within a factor of 2."""
        return net == self.net and 0.5 <= nodes_per_move / self.nodes_per_move <= 2.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its 95 % interval. The interval is that of the chance which moves were there to be judged, and knows
    nothing of the analysis' own errors."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Strength:
    """A strength on the scale of a calibration. Infinite beyond its ends: weaker or stronger than every level."""

    elo: Interval
    nodes: Interval
    """Nodes a move of our own searcher for the same strength."""


def virtual_score(a: Losses, b: Losses, seed: int = 1) -> Interval | None:
    """The share of points that ``a`` makes against ``b``; None where either has fewer than `LEAST_MOVES` moves."""
    if min(len(a), len(b)) < LEAST_MOVES:
        return None
    rng = np.random.default_rng(seed)
    own, other = np.array(a), np.array(b)
    value = _score(_chain(own), _chain(other))
    again = [_score(_chain(_resampled(own, rng)), _chain(_resampled(other, rng))) for _ in range(_RESAMPLES)]
    low, high = np.quantile(again, (0.025, 0.975))
    return Interval(value, float(low), float(high))


def strength(losses: Losses, calibration: Calibration, seed: int = 1) -> Strength | None:
    """The strength of a player among the levels; None with fewer than `LEAST_MOVES` moves."""
    if len(losses) < LEAST_MOVES:
        return None
    rng = np.random.default_rng(seed)
    levels = [_chain(np.array(level.losses)) for level in calibration.levels]

    def place(losses: _Moves) -> float:
        """The level of equal strength as a number: 0 is the first, 0.5 half way to the second (in Elo)."""
        chain = _chain(losses)
        return _equal([_score(chain, level) for level in levels])

    own = np.array(losses)
    again = sorted(place(_resampled(own, rng)) for _ in range(_RESAMPLES))
    edge = round(0.025 * _RESAMPLES)
    ends = (place(own), again[edge], again[-1 - edge])
    elos = [level.elo for level in calibration.levels]
    logs = [math.log2(level.nodes) for level in calibration.levels]
    return Strength(
        Interval(*(_at(elos, end) for end in ends)),
        Interval(*(2.0 ** _at(logs, end) for end in ends)),
    )


def elo_of(score: float) -> float:
    """The Elo difference at which one scores so much."""
    if not 0.0 < score < 1.0:
        return math.copysign(math.inf, score - 0.5)
    return 400.0 * math.log10(score / (1.0 - score))


def _equal(scores: Sequence[float]) -> float:
    """The level at which the scores against ever stronger levels fall through 50 %: an index, with fractions between
    two levels."""
    chances = [elo_of(min(max(score, 0.002), 0.998)) for score in scores]
    if chances[0] < 0:
        return -math.inf
    for index, (above, below) in enumerate(pairwise(chances)):
        if below < 0:
            return index + above / (above - below)
    return math.inf


def _at(values: Sequence[float], place: float) -> float:
    if math.isinf(place):
        return place
    return float(np.interp(place, range(len(values)), values))


def _resampled(losses: _Moves, rng: np.random.Generator) -> _Moves:
    return losses[rng.integers(len(losses), size=len(losses))]


def _chain(losses: _Moves) -> _Matrix:
    """The chance to come from each of `_SCORES` to each other by one move, both from the mover's side.

    What a row lacks to 1 is the chance to lose the game by the move. A band without a move has those of the nearest
    that has some.
    """
    steps, rest = np.divmod(losses[:, 1] / _STEP, 1.0)
    falls = np.zeros((len(BANDS), len(_SCORES) + 1))
    """By band and steps down; the last column: out of the walk."""
    for down, share in ((steps, 1.0 - rest), (steps + 1, rest)):
        np.add.at(falls, (losses[:, 0], np.minimum(down, len(_SCORES)).astype(np.int64)), share)
    counts = falls.sum(axis=1)
    filled = np.flatnonzero(counts)
    nearest = [filled[np.abs(filled - index).argmin()] for index in range(len(BANDS))]
    falls = (falls[nearest] / counts[nearest, None])[_BAND_OF]
    return np.where(_FALL >= 0, np.take_along_axis(falls, np.maximum(_FALL, 0), axis=1), 0.0)


def _score(a: _Matrix, b: _Matrix) -> float:
    """The share of points that ``a`` makes, moving first in half of the games."""
    own = (1.0 - _DRAW) * a
    other = (1.0 - _DRAW) * b[::-1, ::-1]  # b's scores from a's side
    wins = (1.0 - _DRAW) * (1.0 - b.sum(axis=1))[::-1]
    # first = own second + draw/2, second = other first + wins + draw/2, by the score at which a, or b, is to move
    half = np.full(len(_SCORES), _DRAW / 2)
    first = np.linalg.solve(np.eye(len(_SCORES)) - own @ other, own @ (wins + half) + half)
    second = other @ first + wins + half
    middle = len(_SCORES) // 2
    return float(first[middle] + second[middle]) / 2
