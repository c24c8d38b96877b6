"""The cost of a run as far as it is known, for the price cap: where one cannot look, by the hour. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 3
"""Failed looks in a row after which the time since the last good one is counted by its rate."""


@dataclass(slots=True)
class Spending:
    """One run of the fleet.

    Args:
        rate: US dollars an hour; that of the last good look, before the first one what was planned.
        at: when ``usd`` held, in seconds since 1970.
        usd: what the run had cost then.
    """

    rate: float
    at: float
    usd: float = 0.0
    failed: int = 0
    """Looks since the last good one."""

    def looked(self, now: float, usd: float, rate: float) -> None:
        """A good look: what the run has cost, and what its machines cost an hour now."""
        self.rate, self.at, self.usd, self.failed = rate, now, usd, 0

    def usd_by(self, now: float) -> float:
        """The cost of the run by ``now``."""
        return self.usd + (self.rate * max(0.0, now - self.at) / 3600 if self.failed >= PATIENCE else 0.0)
