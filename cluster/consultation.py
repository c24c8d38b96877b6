"""Voting: several voters' ballots become one. Which voter is right is unknown; which moves they agree on is not.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito (2010): ``majority`` chooses the move with most votes, ``optimistic``
the ballot with the highest score.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence

from cluster.api import Ballot
from worker.score import MATE_BOUND


class Vote(enum.StrEnum):
    """How ballots are counted."""

    MAJORITY = "majority"
    """Most votes; a tie, or any known win, goes to the highest score."""
    OPTIMISTIC = "optimistic"
    """The highest score."""


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and those at most ``depth_slack`` plies behind the deepest.

    A voter that came late into the search has a shallow and noisy score; it must not outbid the others with that.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or ballot.score >= MATE_BOUND]


def count(ballots: Sequence[Ballot], vote: Vote) -> Ballot:
    """The ballot that is played: of the ballots for the chosen move the one with the highest score.

    Ties that are left (score, then depth) go to the first ballot, so that the outcome depends on nothing else.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    if vote is Vote.OPTIMISTIC or any(ballot.score >= MATE_BOUND for ballot in ballots):
        return _highest(ballots)
    votes = Counter(ballot.move for ballot in ballots)
    most = max(votes.values())
    return _highest([ballot for ballot in ballots if votes[ballot.move] == most])


def agreement(ballots: Sequence[Ballot], move: str) -> float:
    """The share of the ballots that are for ``move``, 0 to 1 (no ballots: 0)."""
    if not ballots:
        return 0.0
    return sum(ballot.move == move for ballot in ballots) / len(ballots)


def _highest(ballots: Sequence[Ballot]) -> Ballot:
    return max(ballots, key=lambda ballot: (ballot.score, ballot.depth))
