"""The conditions under which a fleet that is left alone ends by itself. Pure; times are seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

QUIET_S: Final = 300.0
"""A game whose record did not change for so long is over, or as good as."""
OVER_CAP: Final = 1.1
"""A game that is being played may go so far over the price cap."""


@dataclass(frozen=True, slots=True)
class EndRule:
    """``idle_hours``: without a move, 0: never for that; ``price_cap_usd``: for one run, 0: none."""

    idle_hours: float = 0.0
    price_cap_usd: float = 0.0

    def why(self, now: float, began: float, last_move: float | None, run_usd: float) -> str:
        """The reason why the fleet is to end now; empty: it goes on.

        A cap ends no game that is being played, unless it goes a tenth over it.

        Args:
            began: of this run.
            last_move: when a record was last written; None: there is none of this run.
            run_usd: what this run has cost.
        """
        quiet_s = now - max(began, last_move or began)
        playing = last_move is not None and last_move > began and quiet_s < QUIET_S
        cap = self.price_cap_usd
        if cap and run_usd >= cap * (OVER_CAP if playing else 1.0):
            return f"price cap: {run_usd:.2f} of {cap:.2f} US dollars are spent"
        if self.idle_hours and quiet_s >= self.idle_hours * 3600:
            return f"idle: no move for {quiet_s / 3600:.1f} hours"
        return ""
