"""Growing random delays between attempts: pure arithmetic."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

_DOUBLINGS: Final = 64
"""Powers beyond that overflow; any delay is at its longest by then."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How to try again after failures in a row. Random, so that many clients do not come back at the same instant."""

    first_s: float = 1.0
    """The most that the first delay lasts."""
    factor: float = 2.0
    most_s: float = 120.0
    attempts: int | None = 30
    """Give up after so many failures in a row: with these delays within 50 minutes. None: never."""

    def delay_s(self, failures: int, rng: random.Random) -> float | None:
        """How long to wait after ``failures`` (1, 2 …) failures in a row; None: give up."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        longest = min(self.most_s, self.first_s * self.factor ** min(failures - 1, _DOUBLINGS))
        return rng.uniform(longest / 2, longest)
