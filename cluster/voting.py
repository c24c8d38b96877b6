"""Voting: chooses one of several voters' ballots. Nobody knows which voter is right, but their agreement is known.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" (2010); ``weighted`` is the vote of Stockfish's threads. Other rules were measured and removed (the highest
score, the sum of scores, proven mates first: docs/notebook/strategies.md). To add a rule, add a member to `Vote` and a
function of the same name below.

**The contract of every rule** (``tests/cluster/test_voting.py`` checks it for every member of `Vote`):

- *Pure.* It takes one or more ballots and returns one of them. The result depends on the ballots only; adding the same
  voters again in the same order gives the same result.
- *Members.* Several nodes may stand for a ballot (if a group shares a tree). ``majority`` adds their weights, in which
  a fast node has more than a slow one (`Ballot.weight`); ``weighted`` weighs by score, depth and nodes, which a group's
  line already contains.
- *Mated ballots.* A ballot with a known win beats every ballot without one, and the shorter of two wins counts. A
  ballot that sees its side mated weighs nothing while another ballot is open, except for ``majority``, which counts
  voters and not scores. If all see themselves mated, the longest defence is played, by ``majority`` that of most
  voters.
- *Ties.* The highest score wins, then the greatest depth, then the first ballot. The order of the ballots (that of the
  nodes) affects nothing else.
- *Agreement.* The chosen move's share of the weight: above 0, and 1 if all are for the same move.
- *Lost voters.* A lost node keeps its ballot: its result stays true. The ballot is counted as long as it is not more
  than ``ballot_depth_slack`` plies shallower than the deepest (`comparable`), so it drops out by itself in a long
  search. If there is no ballot, there is no vote: the caller asks the fallback.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cluster.api import Ballot
from worker.score import MATE_BOUND

_LEAST_WEIGHT: Final = 14
"""The score term of the worst ballot's weight in `weighted`: Stockfish's figure."""


class Vote(enum.StrEnum):
    """The rules for counting ballots. This is the only list of them."""

    MAJORITY = "majority"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class Count:
    """The outcome of a vote."""

    ballot: Ballot
    """The chosen ballot: among those for the chosen move, the one with the highest score, then the greatest depth."""
    agreement: float
    """The chosen move's share of the weight of all votes, 0 to 1. If a win is known, its share of the ballots."""


def is_win(ballot: Ballot) -> bool:
    """Whether the score is a mate for us, at any search depth."""
    return ballot.score >= MATE_BOUND


def highest(ballots: Sequence[Ballot], among: Sequence[Ballot]) -> Count:
    """The ballot of ``among`` with the highest score, then the greatest depth, then the first. ``among`` is a non-empty
    subset of the ballots."""
    best = max(among, key=lambda ballot: (ballot.score, ballot.depth))
    return Count(best, sum(ballot.move == best.move for ballot in ballots) / len(ballots))


def known_win(ballots: Sequence[Ballot]) -> Count | None:
    """The highest score if some ballots know of a win; None if none does."""
    wins = [ballot for ballot in ballots if is_win(ballot)]
    return highest(ballots, wins) if wins else None


def heaviest(ballots: Sequence[Ballot], weights: Sequence[float]) -> Count:
    """The move with the most weight; ties go to the highest score.

    Args:
        weights: one for each ballot, none below 0, not all 0.
    """
    by_move: defaultdict[str, float] = defaultdict(float)
    for ballot, weight in zip(ballots, weights, strict=True):
        by_move[ballot.move] += weight
    most = max(by_move.values())
    best = highest(ballots, [ballot for ballot in ballots if by_move[ballot.move] == most]).ballot
    return Count(best, most / sum(weights))


def weights_of_open(ballots: Sequence[Ballot], weight: Callable[[Ballot, int], float]) -> list[float]:
    """Weights of ballots if none knows of a win. A known loss weighs nothing unless all are lost.

    If all ballots see their side mated, those with the longest defence weigh 1.

    Args:
        weight: computes a ballot's weight from the ballot and the lowest score that is not a known loss; above 0.
    """
    scores = [ballot.score for ballot in ballots if ballot.score > -MATE_BOUND]
    if not scores:
        longest = max(ballot.score for ballot in ballots)
        return [float(ballot.score == longest) for ballot in ballots]
    worst = min(scores)
    return [weight(ballot, worst) if ballot.score > -MATE_BOUND else 0.0 for ballot in ballots]


def majority(ballots: Sequence[Ballot]) -> Count:
    """Most votes: each node that searched has one, a faster node more (`Ballot.weight`). A tie, or any known win, goes
    to the highest score (Gikou)."""
    return known_win(ballots) or heaviest(ballots, [ballot.weight for ballot in ballots])


def weighted(ballots: Sequence[Ballot]) -> Count:
    """Stockfish's vote of its threads (`worker.search.thread.elect`), times the number of positions that the voter has
    searched.

    If all search for the same time, that number is the voter's speed: a voter with four times the positions is worth
    more than four voters. A known win goes to the highest score; a known loss weighs nothing while another ballot is
    open.
    """

    def weight(ballot: Ballot, worst: int) -> float:
        return float((ballot.score - worst + _LEAST_WEIGHT) * max(1, ballot.depth) * max(1, ballot.nodes))

    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, weight))


_RULES: Final[Mapping[Vote, Callable[[Sequence[Ballot]], Count]]] = {
    Vote.MAJORITY: majority,
    Vote.WEIGHTED: weighted,
}


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and ballots at most ``depth_slack`` plies shallower than
    the deepest.

    A voter that joined late has a shallow and noisy score, which must not win the vote.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or is_win(ballot)]


def count(ballots: Sequence[Ballot], vote: Vote) -> Count:
    """Count the ballots. Remaining ties (after score and depth) go to the first ballot, so the outcome depends on
    nothing else.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    return _RULES[vote](ballots)
