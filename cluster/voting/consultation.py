"""Voting: several voters' ballots become one. Which voter is right is unknown; which moves they agree on is not.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" and "Optimistic Selection Rule Better Than Majority Voting System" (both 2010). The other rules are those of
programs that were played with. Each rule is a function of `cluster.voting.rules`; a new one is named in `Vote` and `_RULES`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cluster.api import Ballot
from cluster.voting.rules import Count, is_win, majority, mate_first, optimistic, score_sum, weighted


class Vote(enum.StrEnum):
    """Rules by which ballots are counted; the function of the same name in `cluster.voting.rules` explains each."""

    MAJORITY = "majority"
    OPTIMISTIC = "optimistic"
    WEIGHTED = "weighted"
    SCORE_SUM = "score_sum"
    MATE_FIRST = "mate_first"


_RULES: Final[Mapping[Vote, Callable[[Sequence[Ballot]], Count]]] = {
    Vote.MAJORITY: majority,
    Vote.OPTIMISTIC: optimistic,
    Vote.WEIGHTED: weighted,
    Vote.SCORE_SUM: score_sum,
    Vote.MATE_FIRST: mate_first,
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
