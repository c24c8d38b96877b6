"""The spread of the main time over a game: pure arithmetic over plies.

The shape is YaneuraOu's trapezoid: little in the opening, in which a book or a standard move would do as well; a rise
until the fight begins; a plateau; and a fall to a tail for very long games. A move's share is the trapezoid's weight at
this ply divided by the sum of its weights from here on, so saved or overdrawn time is spread over all later moves.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Final

from worker.clock.delays import Delays
from worker.clock.timecontrol import ClockSettings, TimeControl
from worker.score import winning_probability

_CORNERS: Final = ((8, 0.5), (32, 1.0), (70, 1.0), (120, 0.2))
"""Ply and weight: level before the first corner and after the last."""
_TAIL_MOVES: Final = 8
"""The least number of own moves to plan for, however long the game has lasted."""
_LIKELY_LENGTH: Final = 120
"""Ply at which most games are over."""
_MANY_MOVES: Final = 100
"""Own moves that a game may well last from any ply on, if there is no move limit."""
_SHORTEST_LIFE: Final = 0.15
_MOST: Final = 0.3
"""No move gets more than this share, unless the move limit is about to end the game."""


def moves_to_limit(ply: int, max_moves: int | None) -> int | None:
    """Own moves that are left, this one included, after ``ply`` moves of a game that is drawn at ``max_moves``."""
    return None if max_moves is None else max(1, math.ceil((max_moves - ply) / 2))


def most_moves(ply: int, max_moves: int | None) -> int:
    """Own moves that the game may still last, this one included."""
    limit = moves_to_limit(ply, max_moves)
    return _MANY_MOVES if limit is None else limit


def share(ply: int, max_moves: int | None = None, score: int | None = None) -> float:
    """The part of the main time for the move after ``ply`` moves, 0 to 1.

    Args:
        ply: moves made so far in the game.
        max_moves: the ply at which the game is drawn, if there is a limit: no time is kept for after that.
        score: of our last move, for us. A lost game does not last long: unused time in it is worth nothing.
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
    """The trapezoid's weight at ``ply``."""
    before = _CORNERS[0]
    for corner in _CORNERS:
        if ply < corner[0]:
            if corner is before:
                return corner[1]
            along = (ply - before[0]) / (corner[0] - before[0])
            return before[1] + along * (corner[1] - before[1])
        before = corner
    return before[1]


_LAST_MOVES: Final = 5
"""Own moves before the move limit from which the time kept for accidents is spent."""
_DEVIATIONS: Final = 2.0
"""Standard deviations of the cost of the moves to come that are held in reserve besides the mean."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Main time held in reserve, in milliseconds."""

    cost_ms: float | None
    """Main time that even an instant move costs on average; None if the time added each move covers it."""
    due_ms: float
    """The least main time that later moves will cost, for as many moves as the game may last."""
    wanted_ms: float
    """Main time of which no unit may be lost, including this move's cost: all that is due up to the move limit. Without
    a limit, half of it, because more is held than most games need."""
    kept_ms: float
    """Main time kept only for accidents."""

    @property
    def all_ms(self) -> float:
        return self.due_ms + self.kept_ms

    @classmethod
    def of(
        cls, control: TimeControl, delays: Delays, settings: ClockSettings, ply: int, max_moves: int | None
    ) -> Holding:
        """The reserve after ``ply`` moves of a game that is drawn at ``max_moves``, over a connection with these
        delays."""
        limit = moves_to_limit(ply, max_moves)
        kept = min(settings.untouched_ms, control.total_ms / 6)
        if limit is not None:
            kept *= min(1.0, (limit - 1) / _LAST_MOVES)
        usual_charge = control.charge(delays.usual_ms + settings.least_ms)
        if control.unlimited or usual_charge < control.byoyomi_ms + control.increment_ms:
            return cls(None, 0.0, 0.0, kept)

        def cost_ms(delay_ms: float) -> int:
            # Byoyomi does not count: without main time the cost would be the flag.
            return max(0, control.charge(delay_ms + settings.least_ms) - control.increment_ms)

        cost, variance, known = delays.cost(cost_ms)
        moves = most_moves(ply, max_moves) - 1
        doubt = _DEVIATIONS * math.sqrt(variance * moves * (1 + moves / known))
        due = cost * moves + doubt + control.unit_ms  # the last move too must leave some
        return cls(cost, due, cost + (due / 2 if limit is None else due), kept)
