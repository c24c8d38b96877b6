"""The spread of the main time over a game: pure arithmetic over plies.

The shape is YaneuraOu's trapezoid: little in the opening, where a book or a habit would do as well, more and more until
the fight begins, a plateau, and a fall towards a tail for games that go on for ever. A share is what the trapezoid has
at this ply, of all that it has from here on; so time that was saved or overdrawn is spread over all that follows.
"""

from __future__ import annotations

import functools
import math
from typing import Final

from worker.score import winning_probability

_CORNERS: Final = ((8, 0.5), (32, 1.0), (70, 1.0), (120, 0.2))
"""Ply and weight: level before the first corner and behind the last."""
_TAIL_MOVES: Final = 8
"""Own moves to reckon with however long the game has lasted."""
_LIKELY_LENGTH: Final = 120
"""Ply at which most games are over."""
_MANY_MOVES: Final = 100
"""Own moves that a game may well last from any ply on, where no limit says less or more."""
_SHORTEST_LIFE: Final = 0.15
_MOST: Final = 0.3
"""No move gets more than this share, unless the move limit says that the game is about to end."""


def moves_to_limit(ply: int, max_moves: int | None) -> int | None:
    """Own moves that are left, this one included, behind ``ply`` moves of a game that is drawn at ``max_moves``."""
    return None if max_moves is None else max(1, math.ceil((max_moves - ply) / 2))


def most_moves(ply: int, max_moves: int | None) -> int:
    """Own moves that the game may still last, this one included."""
    limit = moves_to_limit(ply, max_moves)
    return _MANY_MOVES if limit is None else limit


def share(ply: int, max_moves: int | None = None, score: int | None = None) -> float:
    """The part of the main time that is for the move behind ``ply`` moves, 0 to 1.

    Args:
        ply: moves made so far in the game.
        max_moves: the ply at which the game is drawn, where there is one: nothing is kept for later than that.
        score: of our last move, for us. A game that is being lost does not last: time left over in it is worth nothing.
    """
    limit = moves_to_limit(ply, max_moves)
    ahead = max(_TAIL_MOVES, math.ceil((_LIKELY_LENGTH - ply) / 2))
    ends_at_limit = limit is not None and limit <= ahead
    if limit is not None:
        ahead = min(ahead, limit)
    part = _part(ply, ahead)
    if ends_at_limit and ahead <= 1 / _MOST:
        return part
    if score is not None:
        part /= max(_SHORTEST_LIFE, min(1.0, 2 * winning_probability(score)))
    return min(part, _MOST)


@functools.lru_cache(maxsize=4096)
def _part(ply: int, moves: int) -> float:
    """The share that the trapezoid gives the move at ``ply``, with ``moves`` own moves from there on."""
    return _weight(ply) / sum(_weight(ply + 2 * move) for move in range(moves))


def _weight(ply: int) -> float:
    """The trapezoid."""
    before = _CORNERS[0]
    for corner in _CORNERS:
        if ply < corner[0]:
            if corner is before:
                return corner[1]
            along = (ply - before[0]) / (corner[0] - before[0])
            return before[1] + along * (corner[1] - before[1])
        before = corner
    return before[1]
