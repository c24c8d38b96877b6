"""Voting: chooses one of several voters' ballots. Nobody knows which voter is right, but their agreement is known.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" (2010). Other rules were measured and removed (the highest score, the sum of scores, proven mates first, the
vote of Stockfish's threads: docs/notebook/strategies.md).

- *Pure.* `count` takes one or more ballots and returns one of them. The result depends on the ballots only; adding the
  same voters again in the same order gives the same result.
- *Members.* Several nodes may stand for a ballot (if a group shares a tree). Their weights are added; a fast node has
  more weight than a slow one (`Ballot.weight`).
- *Mates.* A ballot with a known win beats every ballot without one, and the shorter of two wins counts. Voters that see
  their side mated count as others do.
- *Ties.* The highest score wins, then the greatest depth, then the first ballot. The order of the ballots (that of the
  nodes) affects nothing else.
- *Agreement.* The chosen move's share of the weight: above 0, and 1 if all are for the same move.
- *Lost voters.* A lost node keeps its ballot: its result stays true. The ballot is counted as long as it is not more
  than ``ballot_depth_slack`` plies shallower than the deepest (`comparable`), so it drops out by itself in a long
  search. If there is no ballot, there is no vote: the caller asks the fallback.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.api import Ballot
from worker.score import MATE_BOUND


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


def count(ballots: Sequence[Ballot]) -> Count:
    """The move with the most weight. A tie, or any known win, goes to the highest score (Gikou), then to the greatest
    depth, then to the first ballot.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    wins = [ballot for ballot in ballots if is_win(ballot)]
    if wins:
        best = _highest(wins)
        return Count(best, sum(ballot.move == best.move for ballot in ballots) / len(ballots))
    by_move: defaultdict[str, float] = defaultdict(float)
    for ballot in ballots:
        by_move[ballot.move] += ballot.weight
    most = max(by_move.values())
    best = _highest([ballot for ballot in ballots if by_move[ballot.move] == most])
    return Count(best, most / sum(by_move.values()))


def _highest(ballots: Sequence[Ballot]) -> Ballot:
    return max(ballots, key=lambda ballot: (ballot.score, ballot.depth))


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and ballots at most ``depth_slack`` plies shallower than
    the deepest.

    A voter that joined late has a shallow and noisy score, which must not win the vote.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or is_win(ballot)]
