"""The rules by which ballots are counted, and the parts that they share: a known win, the heaviest move, weights above
the worst score. Who counts calls `cluster.voting.consultation.count`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cluster.api import Ballot
from worker.score import MATE, MATE_BOUND

_LEAST_WEIGHT: Final = 14
"""Score's part of the worst ballot's weight in `weighted`: Stockfish's figure."""


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


def majority(ballots: Sequence[Ballot]) -> Count:
    """Most votes: a group has one for each of its nodes that searched. A tie, or any known win, goes to the highest
    score (Gikou)."""
    return known_win(ballots) or heaviest(ballots, [float(ballot.members) for ballot in ballots])


def optimistic(ballots: Sequence[Ballot]) -> Count:
    """The highest score."""
    return highest(ballots, ballots)


def weighted(ballots: Sequence[Ballot]) -> Count:
    """Stockfish's vote of its threads (`worker.search.thread.elect`), times the nodes that the voter has searched.

    These are its speed where all search for the same time: a node with four times the nodes is worth more than four
    voters. A known win goes to the highest score; a known loss weighs nothing while another ballot is open.
    """

    def weight(ballot: Ballot, worst: int) -> float:
        return float((ballot.score - worst + _LEAST_WEIGHT) * max(1, ballot.depth) * max(1, ballot.nodes))

    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, weight))


def score_sum(ballots: Sequence[Ballot]) -> Count:
    """The vote of Stockfish's cluster branch: the sum of the scores above the worst one, with the depth for what even
    the worst ballot says. Known wins and losses as in `weighted`."""

    def weight(ballot: Ballot, worst: int) -> float:
        return float(ballot.score - worst + max(1, ballot.depth))

    return known_win(ballots) or heaviest(ballots, weights_of_open(ballots, weight))


def mate_first(ballots: Sequence[Ballot]) -> Count:
    """The shortest proven mate, one no longer than its search was deep; else most votes, in which a known loss gets no
    hearing while another ballot is open; then the highest score (tanuki's proxy, dlshogi)."""

    def proven(ballot: Ballot) -> bool:
        return is_win(ballot) and MATE - ballot.score <= ballot.depth

    return known_win(ballots, proven) or heaviest(
        ballots, weights_of_open(ballots, lambda ballot, _: float(ballot.members))
    )
