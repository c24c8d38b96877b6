"""Lazy SMP: the depths that a thread leaves out, and the vote on the move when all have ended. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.score import MATE_BOUND

_BLOCKS: Final = ((1, 2), (2, 4), (3, 6), (4, 8))
"""(depths left out at a stretch, threads that do so), for helper threads 1 to 20; then from the beginning."""
_PATTERNS: Final = tuple((size, phase) for size, threads in _BLOCKS for phase in range(threads))
_LEAST_WEIGHT: Final = 14
"""The vote of the thread with the worst score, by depth."""


def skips(number: int, depth: int) -> bool:
    """Whether thread ``number`` leaves out the iteration of ``depth`` plies. The main thread, 0, leaves out none, and
    no thread the first: so there is a move, however early the search ends.

    A helper searches ``size`` depths and leaves out the next ``size``, and helpers of one size begin at different
    places (Stockfish 8 to 11), so that threads spread over depths without talking to each other.
    """
    if number == 0 or depth == 1:
        return False
    size, phase = _PATTERNS[(number - 1) % len(_PATTERNS)]
    return (depth + phase) // size % 2 == 1


@dataclass(frozen=True, slots=True)
class Ballot:
    """The result of one thread."""

    move: int
    score: int
    depth: int
    """The deepest iteration that it finished."""


def elect(ballots: Sequence[Ballot]) -> int:
    """The index of the ballot that wins; ties go to the first of them.

    The shortest proven mate wins. Else each ballot gives its move a weight by depth and by how far its score lies above
    the worst one (Stockfish, YaneuraOu), and the move of the greatest weight wins, by its own strongest ballot. A
    ballot that sees its side mated does not count while another one does not; if all do, the longest defence wins.
    """
    mates = [i for i, ballot in enumerate(ballots) if ballot.score >= MATE_BOUND]
    if mates:
        return max(mates, key=lambda i: ballots[i].score)
    open_ones = [i for i, ballot in enumerate(ballots) if ballot.score > -MATE_BOUND]
    if not open_ones:
        return max(range(len(ballots)), key=lambda i: ballots[i].score)
    worst = min(ballots[i].score for i in open_ones)
    weights = {i: (ballots[i].score - worst + _LEAST_WEIGHT) * ballots[i].depth for i in open_ones}
    votes: defaultdict[int, int] = defaultdict(int)
    for i, weight in weights.items():
        votes[ballots[i].move] += weight
    return max(open_ones, key=lambda i: (votes[ballots[i].move], weights[i]))
