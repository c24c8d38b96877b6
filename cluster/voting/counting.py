"""Parts that voting rules share: a known win, the heaviest move, weights above the worst score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster.api import Ballot
from worker.score import MATE_BOUND


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


def known_win(ballots: Sequence[Ballot], believed: Callable[[Ballot], bool] = is_win) -> Count | None:
    """The highest score where some ballots know of a win; None: none does.

    Args:
        believed: tells which ballots know of one.
    """
    wins = [ballot for ballot in ballots if believed(ballot)]
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
