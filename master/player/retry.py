"""Whether and when to try again: growing random delays, and a name that two players log in with. Pure."""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass
from typing import Final

_DOUBLINGS: Final = 64
"""Powers beyond that overflow; any delay is at its longest by then."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays between attempts after failures in a row. Random, so that many clients do not come back at the same
    instant."""

    first_s: float = 1.0
    """The most that the first delay lasts."""
    factor: float = 2.0
    most_s: float = 120.0
    attempts: int | None = 30
    """Failures in a row after which to give up: with these delays within 50 minutes. None: never."""

    def delay_s(self, failures: int, rng: random.Random) -> float | None:
        """The wait after ``failures`` (1, 2 …) failures in a row; None: give up."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        longest = min(self.most_s, self.first_s * self.factor ** min(failures - 1, _DOUBLINGS))
        return rng.uniform(longest / 2, longest)


class Rivalry(enum.Enum):
    """The meaning of logins that are shut out again and again."""

    NONE = "none"
    SUSPECTED = "suspected"
    """Said once in a row."""
    CERTAIN = "certain"
    """As good as: it will not end by itself."""


@dataclass(slots=True)
class ShownOut:
    """Tells a name that two players log in with from a server that closes a connection now and then.

    A login of the same name and password ends the wait of the one before it, without a word. Two players who both come
    back after each such end would go on for ever. With `Backoff`'s delays the rounds below take some minutes, and the
    player who gives up leaves the other one in.
    """

    short_s: float = 300.0
    """Seconds of waiting after which a login does not count as shut out by a rival who keeps coming back."""
    suspected: int = 3
    """Times in a row, without a game between, from which on a rival is suspected."""
    certain: int = 8
    times: int = 0
    """Times in a row so far."""

    def again(self, waited_s: float) -> Rivalry:
        """The server closed our connection ``waited_s`` after it had let us in, while we waited for a game."""
        self.times = self.times + 1 if waited_s < self.short_s else 0
        if self.times >= self.certain:
            return Rivalry.CERTAIN
        return Rivalry.SUSPECTED if self.times == self.suspected else Rivalry.NONE

    def over(self) -> None:
        """Something else has happened: a game, or a server that cannot be reached."""
        self.times = 0
