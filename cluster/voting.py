"""Voting: several voters' ballots become one. Which voter is right is unknown; which moves they agree on is not.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" (2010); ``weighted`` is the vote of Stockfish's threads. Other rules were measured and went (the highest
score, the sum of scores, proven mates first: docs/notebook/strategies.md). A new rule is a member of `Vote` and a
function of that name below.

**The contract of every rule** (``tests/cluster/test_voting.py`` asks it of every member of `Vote`):

- *Pure.* It takes one ballot or more, and gives back one of them. Nothing but the ballots decides; to add the same
  voters again in the same order gives the same outcome.
- *Members.* A ballot of several nodes (a group that shares out a tree) has ``members`` of them. ``majority`` counts
  one vote for each; ``weighted`` weighs by score, depth and nodes, which a group's line has already.
- *Mated ballots.* A ballot that knows of a win beats every one that does not, and of two wins the shorter counts. A
  ballot that sees its side mated weighs nothing while another ballot is open, except for ``majority``, which counts
  voters and not scores. If all see themselves mated, the longest defence is played, by ``majority`` that of most
  voters.
- *Ties.* They go to the highest score, then to the greatest depth, then to the ballot that comes first. The order of
  the ballots, which is that of the nodes, decides nothing else.
- *Agreement.* The chosen move's share of the weight: above 0, and 1 if all are for the same move.
- *Lost voters.* A node that is lost keeps its ballot: what it found stays true. It is counted as long as it is not more
  than ``ballot_depth_slack`` plies behind the deepest (`comparable`), so that in a long search it drops out by itself.
  Without any ballot there is no vote: the caller asks the fallback.
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
"""Score's part of the worst ballot's weight in `weighted`: Stockfish's figure."""


class Vote(enum.StrEnum):
    """The rules by which ballots are counted: the one list of them."""

    MAJORITY = "majority"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class Count:
    """The outcome of a vote."""

    ballot: Ballot
    """The one that is played: of the ballots for the chosen move the one with the highest score, then depth."""
    agreement: float
    """The chosen move's share of the weight of all votes, 0 to 1. Where a win is known that is its share of ballots."""


def is_win(ballot: Ballot) -> bool:
    """Whether the score is a mate for us, whatever the depth behind it."""
    return ballot.score >= MATE_BOUND


def highest(ballots: Sequence[Ballot], among: Sequence[Ballot]) -> Count:
    """The highest score, then depth, then the first of ``among``, which are some of the ballots, at least one."""
    best = max(among, key=lambda ballot: (ballot.score, ballot.depth))
    return Count(best, sum(ballot.move == best.move for ballot in ballots) / len(ballots))


def known_win(ballots: Sequence[Ballot]) -> Count | None:
    """The highest score where some ballots know of a win; None: none does."""
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
    """Weights of ballots of which none knows of a win: a known loss weighs nothing while another is open.

    Where all see themselves mated, those of the longest defence weigh 1.

    Args:
        weight: of a ballot, from it and the lowest score that is not a known loss; above 0.
    """
    scores = [ballot.score for ballot in ballots if ballot.score > -MATE_BOUND]
    if not scores:
        longest = max(ballot.score for ballot in ballots)
        return [float(ballot.score == longest) for ballot in ballots]
    worst = min(scores)
    return [weight(ballot, worst) if ballot.score > -MATE_BOUND else 0.0 for ballot in ballots]


def majority(ballots: Sequence[Ballot]) -> Count:
    """Most votes: a group has one for each of its nodes that searched. A tie, or any known win, goes to the highest
    score (Gikou)."""
    return known_win(ballots) or heaviest(ballots, [float(ballot.members) for ballot in ballots])


def weighted(ballots: Sequence[Ballot]) -> Count:
    """Stockfish's vote of its threads (`worker.search.thread.elect`), times the nodes that the voter has searched.

    These are its speed where all search for the same time: a node with four times the nodes is worth more than four
    voters. A known win goes to the highest score; a known loss weighs nothing while another ballot is open.
    """

    def weight(ballot: Ballot, worst: int) -> float:
        return float((ballot.score - worst + _LEAST_WEIGHT) * max(1, ballot.depth) * max(1, ballot.nodes))

    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, weight))


_RULES: Final[Mapping[Vote, Callable[[Sequence[Ballot]], Count]]] = {
    Vote.MAJORITY: majority,
    Vote.WEIGHTED: weighted,
}


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and those at most ``depth_slack`` plies behind the deepest.

    A voter that came late into the search has a shallow and noisy score; it must not outbid the others with that.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or is_win(ballot)]


def count(ballots: Sequence[Ballot], vote: Vote) -> Count:
    """Count the ballots. Ties that are left (score, then depth) go to the first ballot, so that the outcome depends on
    nothing else.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    return _RULES[vote](ballots)
