"""The strength of a player. Pure but for the reading of the calibration.

The strength is found among the reference players of a `Calibration` (our own searcher at several nodes a move, with Elo
by real games among them): the one whose moves lose what the player's moves lose, score band by score band. Without a
calibration for the analysis at hand there is none.

A virtual game, as Qhapaq's ELQ plays it, is a walk of the score from 0. The side to move draws one of its losses in the
band that it is in, and the score falls by that much for it; who is `DECIDED` ahead has won. The walk is a Markov chain
on scores, and its expected result is solved for, not played out. It says which of two players is stronger, and nothing
of how much: of the few moves of one game it would make too much (docs/notebook/analysis.md).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from master.analysis.judgement import BANDS, band

DECIDED: Final = 1500
"""Centipawns ahead at which a virtual game is won."""
LEAST_MOVES: Final = 20
"""Number of moves below which nothing is said of a player."""
_DRAW: Final = 1 / 400
"""The chance of each ply that a virtual game ends there as a draw: two players who lose nothing come to an end too."""
_RESAMPLES: Final = 100
_LOSS_EDGES: Final = (1, 15, 40, 80, 150, 300)
"""Between the classes of loss, in centipawns, by which players are compared."""
_BETWEEN: Final = 20
"""Steps from one level to the next."""
_ADDED: Final = 3.0
"""Number of moves of all levels that are added to those of each, in each band."""
_RATIO: Final = 0.147
"""exp(-1.92): the likelihood ratio of a 95 % interval."""
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
    """A strength on the scale of a calibration. The value is finite; an end of an interval that reaches the weakest or
    the strongest level is open: infinite, or 0 nodes."""

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


def strength(losses: Losses, calibration: Calibration) -> Strength | None:
    """The strength of a player among the levels; None with fewer than `LEAST_MOVES` moves.

    Each level is a distribution of losses for each band; between two levels it is their mixture. All strengths from
    the weakest level to the strongest are equally likely before the moves are seen; the value is their mean weighted by
    how likely the moves are. The interval has the strengths under which they are at least 0.147 times as likely as
    under the best.
    """
    if len(losses) < LEAST_MOVES:
        return None
    last = len(calibration.levels) - 1
    places = np.linspace(0, last, last * _BETWEEN + 1)
    below = np.minimum(places.astype(np.int64), last - 1)
    part = (places - below)[:, None, None]
    rates = _loss_rates(calibration)
    chances = np.log((1.0 - part) * rates[below] + part * rates[below + 1])
    fit = (chances * _loss_counts(losses)).sum(axis=(1, 2))
    likely = np.exp(fit - fit.max())
    value = float((likely * places).sum() / likely.sum())
    within = np.flatnonzero(likely >= _RATIO)
    low = -math.inf if within[0] == 0 else float(places[within[0]])
    high = math.inf if within[-1] == len(places) - 1 else float(places[within[-1]])
    elos = [level.elo for level in calibration.levels]
    logs = [math.log2(level.nodes) for level in calibration.levels]
    return Strength(
        Interval(*(_at(elos, end) for end in (value, low, high))),
        Interval(*(2.0 ** _at(logs, end) for end in (value, low, high))),
    )


def _loss_counts(losses: Losses) -> _Matrix:
    """The number of moves by band and class of loss."""
    found = np.zeros((len(BANDS), len(_LOSS_EDGES) + 1))
    moves = np.array(losses)
    np.add.at(found, (moves[:, 0], np.searchsorted(_LOSS_EDGES, moves[:, 1], side="right")), 1.0)
    return found


def _loss_rates(calibration: Calibration) -> _Matrix:
    """By level, band and class of loss: the share of the level's moves in that band.

    Never 0: a few moves of the mean of all levels are added to each. The share of moves that lose so much or more never
    rises from a level to a stronger one (isotonic regression): what the levels' samples say otherwise is chance.
    """
    counts = np.array([_loss_counts(level.losses) for level in calibration.levels])
    mean = counts.sum(axis=0) + 0.5
    counts += _ADDED * mean / mean.sum(axis=1, keepdims=True)
    above = np.flip(np.flip(counts, axis=2).cumsum(axis=2), axis=2)  # so much or more
    levels = range(len(counts))

    def pooled(first: int, last: int) -> _Matrix:
        part = above[first : last + 1].sum(axis=0)
        return np.asarray(part / part[:, :1])

    falling = [
        np.max([np.min([pooled(low, high) for low in range(at + 1)], axis=0) for high in levels[at:]], axis=0)
        for at in levels
    ]
    shares = np.array(falling)
    return np.asarray(np.maximum(shares - np.pad(shares[..., 1:], ((0, 0), (0, 0), (0, 1))), 1e-6))


def elo_of(score: float) -> float:
    """The Elo difference at which one scores so much."""
    if not 0.0 < score < 1.0:
        return math.copysign(math.inf, score - 0.5)
    return 400.0 * math.log10(score / (1.0 - score))


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


_FILE: Final = "calibration.json"


def read_calibration(path: Path | None = None) -> Calibration:
    """The calibration in ``path``; None: that of the package.

    Raises:
        ValueError, KeyError, OSError: it is none.
    """
    file = path or resources.files("master.analysis").joinpath(_FILE)
    content = json.loads(file.read_text(encoding="utf-8-sig"))
    levels = tuple(
        Level(
            int(level["nodes"]),
            float(level["elo"]),
            tuple((index, int(loss)) for index, part in enumerate(level["losses"]) for loss in part),
        )
        for level in content["levels"]
    )
    return Calibration(str(content["net"]), int(content["nodes_per_move"]), levels)


def network_hash(eval_file: str) -> str:
    """The first 16 hex digits of the SHA-256 of a network file; empty: of the one that ships.

    Raises:
        OSError: the file cannot be read.
    """
    from worker.nnue.network import default_file

    file = Path(eval_file) if eval_file else default_file()
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
