"""Scores as all packages use them: one integer, from the side to move.

A score is in centipawns while ``abs(score) < MATE_BOUND``. Above that it is a mate distance: ``MATE - n`` means
"the side to move mates in n plies", ``n - MATE`` means "the side to move is mated in n plies" (``-MATE``: it is mated
on the board now). Seen from one ply earlier a score changes its sign and a mate moves one ply away: `from_child`.
"""

from __future__ import annotations

import math
from typing import Final

MAX_PLY: Final = 246
"""The deepest ply that a search reaches."""

MATE: Final = 32000
INFINITE: Final = 32001
NO_SCORE: Final = 32002
"""Marks "not searched"; never passed on."""

MATE_BOUND: Final = MATE - 1024
"""Scores at or beyond this are mate distances. Wider than `MAX_PLY`, for deeper mates that a cluster finds."""

MAX_EVAL: Final = MATE_BOUND - 1
DRAW: Final = 0

WIN_SCALE: Final = 750.0
"""Centipawns of our own network at which the odds of the side ahead are e to 1, fitted to 1,000 games of generation 11
against itself (docs/explanation/time.md)."""


def winning_probability(score: int, scale: float = WIN_SCALE) -> float:
    """The winning probability, 0 to 1, of the side that has the score; a mate counts as won or lost.

    Args:
        scale: centipawns at which the odds of the side ahead are e to 1.
    """
    if is_mate(score):
        return 1.0 if score > 0 else 0.0
    return 1.0 / (1.0 + math.exp(-score / scale))


def mate_in(plies: int) -> int:
    """The score of a side that mates in ``plies`` plies."""
    return MATE - plies


def mated_in(plies: int) -> int:
    """The score of a side that is mated in ``plies`` plies."""
    return plies - MATE


def is_mate(score: int) -> bool:
    """Whether the score is a mate distance (for either side)."""
    return abs(score) >= MATE_BOUND


def mate_distance(score: int) -> int:
    """Plies to mate, positive if the side to move mates, negative if it is mated (mated now: 0).

    Raises:
        ValueError: ``score`` is not a mate score.
    """
    if not is_mate(score):
        raise ValueError(f"{score} is not a mate score")
    return MATE - score if score > 0 else -(MATE + score)


def from_child(score: int) -> int:
    """A child's score as its parent sees it: negated, a mate one ply further away."""
    if score >= MATE_BOUND:
        return -(score - 1)
    if score <= -MATE_BOUND:
        return -(score + 1)
    return -score


def to_usi(score: int) -> str:
    """The words after ``score`` in a USI ``info`` line: ``cp 34``, ``mate 7``, ``mate -4``."""
    if not is_mate(score):
        return f"cp {score}"
    if score > 0:
        return f"mate {MATE - score}"
    return f"mate -{MATE + score}"
