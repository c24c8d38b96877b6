"""Main time held in reserve: for the moves to come, and for accidents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from worker.clock.delays import Delays
from worker.clock.plan import most_moves, moves_to_limit
from worker.clock.settings import ClockSettings
from worker.clock.timecontrol import TimeControl

_LAST_MOVES: Final = 5
"""Own moves before the move limit from which on the time kept for accidents is spent."""
_DEVIATIONS: Final = 2.0
"""Standard deviations of the cost of the moves to come that are held besides the mean."""


@dataclass(frozen=True, slots=True)
class Holding:
    """All in milliseconds of main time."""

    cost_ms: float | None
    """Main time that even a move at once takes for good, on average; None where the time that comes anew pays for
    it."""
    due_ms: float
    """Main time that the moves to come will take at the least, as many as the game may last."""
    wanted_ms: float
    """Main time of which no unit may be lost, this move's cost included: all that is due up to the move limit. Where
    there is none, and so more held than most games need, half of it."""
    kept_ms: float
    """Main time kept for accidents alone."""

    @property
    def all_ms(self) -> float:
        return self.due_ms + self.kept_ms

    @classmethod
    def of(
        cls, control: TimeControl, delays: Delays, settings: ClockSettings, ply: int, max_moves: int | None
    ) -> Holding:
        """Behind ``ply`` moves of a game that is drawn at ``max_moves``, over a line with these delays."""
        limit = moves_to_limit(ply, max_moves)
        kept = min(settings.untouched_ms, control.total_ms / 6)
        if limit is not None:
            kept *= min(1.0, (limit - 1) / _LAST_MOVES)
        usual_charge = control.charge(delays.usual_ms + settings.least_ms)
        if control.unlimited or usual_charge < control.byoyomi_ms + control.increment_ms:
            return cls(None, 0.0, 0.0, kept)

        def cost_ms(delay_ms: float) -> int:
            # Without main time it were the flag: byoyomi pays for nothing.
            return max(0, control.charge(delay_ms + settings.least_ms) - control.increment_ms)

        cost, variance, known = delays.cost(cost_ms)
        moves = most_moves(ply, max_moves) - 1
        doubt = _DEVIATIONS * math.sqrt(variance * moves * (1 + moves / known))
        due = cost * moves + doubt + control.unit_ms  # the last move too has to leave some
        return cls(cost, due, cost + (due / 2 if limit is None else due), kept)
