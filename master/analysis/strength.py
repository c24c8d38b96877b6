"""The strength of a player. Pure except for reading the calibration.

The strength is found among the reference players of a `Calibration` (our own searcher at several numbers of nodes a
move, with Elo from real games among them): the one whose moves lose as much as the player's moves, score band by score
band. Without a calibration that fits the analysis there is no strength.
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

from master.analysis.judgement import BANDS

LEAST_MOVES: Final = 20
"""Number of moves below which no strength is given."""
_LOSS_EDGES: Final = (1, 15, 40, 80, 150, 300)
"""Limits between the classes of loss, in centipawns, by which players are compared."""
_BETWEEN: Final = 20
"""Steps from one level to the next."""
_ADDED: Final = 3.0
"""Number of moves of the mean of all levels that are added to each level, in each band."""
_RATIO: Final = 0.147
"""exp(-1.92): the likelihood ratio of a 95 % interval."""
Losses = Sequence[tuple[int, int]]
"""Band and loss in centipawns of each move."""
_Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Level:
    """A reference player: our own searcher at a number of nodes a move."""

    nodes: int
    elo: float
    """From real games between neighbouring levels; the lowest level has 0."""
    losses: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Reference players, analysed in the same way as the players at hand."""

    net: str
    """The first 16 hex digits of the SHA-256 of the analysing network."""
    nodes_per_move: int
    """Nodes per position of the analysis, by all nodes together."""
    levels: tuple[Level, ...]
    """The weakest first; at least two."""

    def fits(self, net: str, nodes_per_move: float) -> bool:
        """Whether an analysis with that network and effort measures losses on the same scale: within a factor of 2."""
        return net == self.net and 0.5 <= nodes_per_move / self.nodes_per_move <= 2.0


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its 95 % interval. The interval covers the chance of which moves there were to judge, but not the
    errors of the analysis itself."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Strength:
    """A strength on the scale of a calibration. The value is finite. If an end of an interval reaches the weakest or
    the strongest level, it is open: infinite, or 0 nodes."""

    elo: Interval
    nodes: Interval
    """Nodes a move of our own searcher for the same strength."""


def strength(losses: Losses, calibration: Calibration) -> Strength | None:
    """The strength of a player among the levels; None with fewer than `LEAST_MOVES` moves.

    Each level is a distribution of losses for each band; between two levels it is their mixture. The prior is uniform
    over all strengths from the weakest level to the strongest; the value is the posterior mean. The interval has the
    strengths under which the moves are at least 0.147 times as likely as under the best one.
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

    Never 0: a few moves of the mean of all levels are added to each. The share of moves that lose at least a given
    amount never rises from a level to a stronger one (isotonic regression): violations in the samples are chance.
    """
    counts = np.array([_loss_counts(level.losses) for level in calibration.levels])
    mean = counts.sum(axis=0) + 0.5
    counts += _ADDED * mean / mean.sum(axis=1, keepdims=True)
    above = np.flip(np.flip(counts, axis=2).cumsum(axis=2), axis=2)  # this much or more
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


def _at(values: Sequence[float], place: float) -> float:
    if math.isinf(place):
        return place
    return float(np.interp(place, range(len(values)), values))


_FILE: Final = "calibration.json"


def read_calibration(path: Path | None = None) -> Calibration:
    """The calibration in ``path``; None: that of the package.

    Raises:
        ValueError, KeyError, OSError: it is not a calibration.
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
    from worker.nnue.format import network_path
    from worker.nnue.network import default_file

    file = network_path(eval_file) if eval_file else default_file()
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
