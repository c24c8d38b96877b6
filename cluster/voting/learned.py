"""The move that a small model holds for best, by how the voters came to their ballots.

Each move that somebody votes for has a value: a weighted sum of the features below. Scores count as winning chances,
so that a hundred centipawns matter less where much is won already. A known win goes to the highest score; a known loss
gets no hearing while another ballot is open. A voter without a history counts as one that never thought otherwise.

`benchmarks.votes.data` makes what the model learns from, `benchmarks.votes.train` the weights (``learned.json``).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from cluster.api import Ballot, Opinion
from cluster.voting.counting import Count, highest, known_win
from worker.score import MATE_BOUND

FEATURES: Final = (
    "share",  # of the votes that are for the move
    "lead",  # the share beyond that of the strongest other move
    "best",  # highest chance that its voters give it, beyond the mean of all ballots
    "mean",  # their mean, likewise
    "spread",  # of their chances, standard deviation
    "depth",  # mean of its voters' depths beyond the mean of all, in plies
    "deepest",  # its deepest ballot beyond the deepest of all, in plies
    "trend",  # what its voters' chances have risen by over their last two plies
    "since",  # when its voters came to it for good, as a part of their search
    "changes",  # how often its voters changed their mind
    "held",  # part of all voters' searches in which it was the best
    "held_late",  # the same over the second half
    "left",  # share of the others who once were for it
    "regret",  # what these gave up when they left it: their last chance with it beyond their present one
    "was_deep",  # how deep these were when they left, beyond the deepest of all, in plies
)
_SCALE_CP: Final = 300
_LATE: Final = 0.5
_TREND_PLIES: Final = 2


@dataclass(frozen=True, slots=True)
class _Path:
    """A voter with what its history comes to."""

    ballot: Ballot
    chance: float
    trend: float
    since: float
    changes: int
    held: Mapping[str, float]
    held_late: Mapping[str, float]
    last: Mapping[str, Opinion]
    """By move: the last opinion that was for it."""


def count(ballots: Sequence[Ballot]) -> Count:
    """Count the ballots, at least one."""
    won = known_win(ballots)
    if won is not None:
        return won
    heard = [ballot for ballot in ballots if ballot.score > -MATE_BOUND]
    if not heard:
        return highest(ballots, ballots)
    weights = standard_weights()
    values = {
        move: math.fsum(weight * found for weight, found in zip(weights, row, strict=True))
        for move, row in features(heard).items()
    }
    best = max(heard, key=lambda one: (values[one.move], one.score, one.depth, one.move))
    total = sum(ballot.members for ballot in ballots)
    return Count(best, sum(ballot.members for ballot in ballots if ballot.move == best.move) / total)


def features(ballots: Sequence[Ballot]) -> dict[str, list[float]]:
    """Of each move voted for the values of `FEATURES`; the order of the ballots changes none.

    Args:
        ballots: at least one.
    """
    paths = [_path(ballot) for ballot in ballots]
    votes: dict[str, int] = {}
    for ballot in ballots:
        votes[ballot.move] = votes.get(ballot.move, 0) + ballot.members
    total = sum(votes.values())
    chance, depth = _mean(path.chance for path in paths), _mean(path.ballot.depth for path in paths)
    deepest = max(ballot.depth for ballot in ballots)
    found = {}
    for move in votes:
        own = [path for path in paths if path.ballot.move == move]
        others = [path for path in paths if path.ballot.move != move]
        left = [path for path in others if move in path.last]
        mean = _mean(path.chance for path in own)
        rival = max((count for other, count in votes.items() if other != move), default=0)
        found[move] = [
            votes[move] / total,
            (votes[move] - rival) / total,
            max(path.chance for path in own) - chance,
            mean - chance,
            math.sqrt(_mean((path.chance - mean) ** 2 for path in own)),
            _mean(path.ballot.depth for path in own) - depth,
            float(max(path.ballot.depth for path in own) - deepest),
            _mean(path.trend for path in own),
            _mean(path.since for path in own),
            _mean(path.changes for path in own),
            _mean(path.held.get(move, 0.0) for path in paths),
            _mean(path.held_late.get(move, 0.0) for path in paths),
            len(left) / max(1, len(others)),
            _mean(_chance(path.last[move].score) - path.chance for path in left),
            _mean(path.last[move].depth - deepest for path in left),
        ]
    return found


@functools.cache
def standard_weights() -> tuple[float, ...]:
    """The weights that come with the package, in the order of `FEATURES`."""
    found = json.loads(resources.files("cluster.voting").joinpath("learned.json").read_text(encoding="utf-8"))
    return tuple(float(found["weights"][name]) for name in FEATURES)


def _path(ballot: Ballot) -> _Path:
    history = ballot.history or (Opinion(0, ballot.depth, ballot.score, ballot.move),)
    end = max(1, ballot.nodes)
    held: dict[str, float] = {}
    held_late: dict[str, float] = {}
    since, changes = 0.0, 0
    # An opinion is told when its iteration ends, but the search for it began where the one before was told.
    begins = 0.0
    before = history[0].move
    for opinion in history:
        ends = min(1.0, opinion.nodes / end) if opinion is not history[-1] else 1.0
        if opinion.move != before:
            changes, since, before = changes + 1, begins, opinion.move
        held[opinion.move] = held.get(opinion.move, 0.0) + ends - begins
        late = max(0.0, ends - max(begins, _LATE)) / (1 - _LATE)
        held_late[opinion.move] = held_late.get(opinion.move, 0.0) + late
        begins = ends
    earlier = [opinion for opinion in history if opinion.depth <= ballot.depth - _TREND_PLIES]
    chance = _chance(ballot.score)
    trend = chance - _chance(earlier[-1].score) if earlier else 0.0
    return _Path(ballot, chance, trend, since, changes, held, held_late, {one.move: one for one in history})


def _chance(score: int) -> float:
    return 1 / (1 + math.exp(-max(-3000, min(3000, score)) / _SCALE_CP))


def _mean(values: Iterable[float]) -> float:
    """Exact, so that the order of the values does not matter; of none 0."""
    known = tuple(values)
    return math.fsum(known) / len(known) if known else 0.0
