"""How strong a player is: virtual games, as Qhapaq's ELQ plays them, between players known by their losses. Pure.

A virtual game is a walk of the score from 0. The side to move draws one of its losses in the band that it is in, and
the score falls by that much for it; who is `DECIDED` ahead has won. So a player is strong who loses little where it
matters.

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

from master.analysis.statistics import BANDS, EDGES

DECIDED: Final = 1500
"""Centipawns ahead at which a virtual game is won."""
LEAST_MOVES: Final = 20
"""With fewer moves that count nothing is said of a player."""
_MOST_PLIES: Final = 400
"""A virtual game so long is a draw."""
_GAMES: Final = 2000
_RESAMPLES: Final = 100
_GAMES_RESAMPLED: Final = 200

Losses = Sequence[tuple[int, int]]
"""Band and loss in centipawns of each move."""
_Table = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""All losses by band, and of each band the first and how many."""


@dataclass(frozen=True, slots=True)
class Level:
    """A reference player: our own searcher at so many nodes a move."""

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
    """On the scale of a calibration. Infinite beyond its ends: weaker or stronger than every level."""

    elo: Interval
    nodes: Interval
    """Of our own searcher, for as much."""


def virtual_score(a: Losses, b: Losses, seed: int = 1) -> Interval | None:
    """The share of points that ``a`` makes against ``b``; None where either has fewer than `LEAST_MOVES` moves."""
    if min(len(a), len(b)) < LEAST_MOVES:
        return None
    rng = np.random.default_rng(seed)
    value = _score(_table(a), _table(b), _GAMES, rng)
    again = [
        _score(_table(_resampled(a, rng)), _table(_resampled(b, rng)), _GAMES_RESAMPLED, rng) for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(again, (0.025, 0.975))
    return Interval(value, min(value, float(low)), max(value, float(high)))


def strength(losses: Losses, calibration: Calibration, seed: int = 1) -> Strength | None:
    """Where a player stands among the levels; None with fewer than `LEAST_MOVES` moves."""
    if len(losses) < LEAST_MOVES:
        return None
    rng = np.random.default_rng(seed)
    levels = [_table(level.losses) for level in calibration.levels]

    def place(own: Losses, games: int) -> float:
        """The level of equal strength as a number: 0 is the first, 0.5 half way to the second (in Elo)."""
        table = _table(own)
        return _equal([_score(table, level, games, rng) for level in levels])

    value = place(losses, _GAMES)
    again = sorted(place(_resampled(losses, rng), _GAMES_RESAMPLED) for _ in range(_RESAMPLES))
    edge = round(0.025 * _RESAMPLES)
    ends = (value, min(value, again[edge]), max(value, again[-1 - edge]))
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
    """Where the scores against ever stronger levels fall through 50 %: an index, with fractions between two levels.

    Noise may make neighbours change places, so that there are several such points: their middle is taken.
    """
    chances = [elo_of(min(max(score, 0.002), 0.998)) for score in scores]
    if all(chance < 0 for chance in chances):
        return -math.inf
    if all(chance > 0 for chance in chances):
        return math.inf
    crossings = [
        index + above / (above - below)
        for index, (above, below) in enumerate(pairwise(chances))
        if above >= 0 >= below and above > below
    ]
    if not crossings:
        return math.inf if chances[-1] > 0 else -math.inf
    return (crossings[0] + crossings[-1]) / 2


def _at(values: Sequence[float], place: float) -> float:
    if math.isinf(place):
        return place
    return float(np.interp(place, range(len(values)), values))


def _resampled(losses: Losses, rng: np.random.Generator) -> Losses:
    return [losses[index] for index in rng.integers(len(losses), size=len(losses))]


def _table(losses: Losses) -> _Table:
    """A band without a move has those of the nearest that has some."""
    parts: list[list[int]] = [[] for _ in BANDS]
    for index, loss in losses:
        parts[index].append(loss)
    filled = [index for index, part in enumerate(parts) if part]
    chosen = [parts[min(filled, key=lambda other: abs(other - index))] for index in range(len(BANDS))]
    counts = np.array([len(part) for part in chosen])
    return np.concatenate(chosen), np.concatenate(([0], counts.cumsum()[:-1])), counts


def _score(a: _Table, b: _Table, games: int, rng: np.random.Generator) -> float:
    """The share of points that ``a`` makes in so many virtual games, moving first in half of them."""
    score = np.zeros(games)
    """From ``a``'s side."""
    sign = np.where(np.arange(games) % 2 == 0, 1, -1)
    """1 where ``a`` is to move."""
    points = 0.0
    for _ in range(_MOST_PLIES):
        own = score * sign
        index = np.searchsorted(EDGES, own)
        draw = rng.random(len(score))
        loss = np.empty(len(score))
        for side, (losses, firsts, counts) in ((1, a), (-1, b)):
            mine = sign == side
            bands = index[mine]
            loss[mine] = losses[firsts[bands] + (draw[mine] * counts[bands]).astype(np.int64)]
        score -= sign * loss
        sign = -sign
        points += float(np.count_nonzero(score >= DECIDED))
        running = np.abs(score) < DECIDED
        score, sign = score[running], sign[running]
        if not len(score):
            break
    return (points + len(score) / 2) / games
