"""Voting: several voters' ballots become one. Which voter is right is unknown; which moves they agree on is not.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" and "Optimistic Selection Rule Better Than Majority Voting System" (both 2010). The other rules are those of
programs that were played with: see `Vote`.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster.api import Ballot
from worker.score import MATE, MATE_BOUND

_LEAST_WEIGHT: Final = 14
"""Of the worst ballot in `Vote.WEIGHTED`, by depth: Stockfish's figure."""


class Vote(enum.StrEnum):
    """How ballots are counted. "Known win" and "known loss" are mate scores, whatever the depth behind them."""

    MAJORITY = "majority"
    """Most votes, of which a group has one for each of its nodes that searched; a tie, or any known win, goes to the
    highest score (Gikou)."""
    OPTIMISTIC = "optimistic"
    """The highest score."""
    WEIGHTED = "weighted"
    """A ballot weighs ``(score - worst + 14) * depth * nodes``, ``worst`` being the lowest score that is not a known
    loss; the heaviest move wins. Stockfish's vote of its threads (`worker.search.smp.elect`), times the nodes that the
    voter has searched, which is its speed where all search for the same time: a node with four times the nodes is worth
    more than four voters. A known win goes to the highest score; a known loss weighs nothing while another is open."""
    SCORE_SUM = "score_sum"
    """A ballot weighs ``score - worst + depth``, and the heaviest move wins: the vote of Stockfish's cluster branch. So
    the sum of the scores above the worst one, with the depth for what even the worst ballot says. Known wins and losses
    as in ``WEIGHTED``."""
    MATE_FIRST = "mate_first"
    """The shortest proven mate, one no longer than its search was deep; else most votes, in which a known loss gets no
    hearing while another ballot is open; then the highest score (tanuki's proxy, dlshogi)."""


@dataclass(frozen=True, slots=True)
class Count:
    """How a vote went."""

    ballot: Ballot
    """The one that is played: of the ballots for the chosen move the one with the highest score, then depth."""
    agreement: float
    """The chosen move's share of the weight of all votes, 0 to 1. Where a win is known that is its share of ballots."""


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and those at most ``depth_slack`` plies behind the deepest.

    A voter that came late into the search has a shallow and noisy score; it must not outbid the others with that.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or ballot.score >= MATE_BOUND]


def count(ballots: Sequence[Ballot], vote: Vote) -> Count:
    """Count the ballots. Ties that are left (score, then depth) go to the first ballot, so that the outcome depends on
    nothing else.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    wins = [ballot for ballot in ballots if ballot.score >= MATE_BOUND]
    if vote is Vote.MATE_FIRST:
        wins = [ballot for ballot in wins if MATE - ballot.score <= ballot.depth]
    if vote is Vote.OPTIMISTIC or wins:
        best = _highest(wins or ballots)
        return Count(best, sum(ballot.move == best.move for ballot in ballots) / len(ballots))
    weights = _weights(ballots, vote)
    by_move: defaultdict[str, float] = defaultdict(float)
    for ballot, weight in zip(ballots, weights, strict=True):
        by_move[ballot.move] += weight
    most = max(by_move.values())
    best = _highest([ballot for ballot in ballots if by_move[ballot.move] == most])
    return Count(best, most / sum(weights))


def _weights(ballots: Sequence[Ballot], vote: Vote) -> list[float]:
    """What each ballot counts, where no win is known; never all nothing."""
    if vote is Vote.MAJORITY:
        return [float(ballot.members) for ballot in ballots]
    open_scores = [ballot.score for ballot in ballots if ballot.score > -MATE_BOUND]
    if not open_scores:  # all see themselves mated: the longest defence
        longest = max(ballot.score for ballot in ballots)
        return [float(ballot.score == longest) for ballot in ballots]
    worst = min(open_scores)
    return [_weight(ballot, worst, vote) if ballot.score > -MATE_BOUND else 0.0 for ballot in ballots]


def _weight(ballot: Ballot, worst: int, vote: Vote) -> float:
    match vote:
        case Vote.WEIGHTED:
            return float((ballot.score - worst + _LEAST_WEIGHT) * max(1, ballot.depth) * max(1, ballot.nodes))
        case Vote.SCORE_SUM:
            return float(ballot.score - worst + max(1, ballot.depth))
        case _:
            return float(ballot.members)


def _highest(ballots: Sequence[Ballot]) -> Ballot:
    return max(ballots, key=lambda ballot: (ballot.score, ballot.depth))
