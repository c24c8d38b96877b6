"""A time control with its arithmetic (the charge for a move, the fall of a flag), and the margins of our own clock.

Source: CSA server protocol 1.2.1 (``BEGIN Time``) and the tournament server's own arithmetic: with ``t`` the charged
time, the flag falls when ``t >= remaining + byoyomi + increment``; otherwise ``remaining`` becomes ``max(0, remaining +
increment - t)``. So the increment is available on the very first move.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeControl:
    """One side's time, all in milliseconds. Without main time, byoyomi and increment there is no limit."""

    total_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    delay_ms: int = 0
    """As the server announced it. The clock never risks the flag for it; `worker.clock.game_clock.GameClock` spends it
    until the server charges a move without it."""
    least_ms: int = 0
    """``Least_Time_Per_Move``: a faster move is charged this much."""
    unit_ms: int = 1000
    """``Time_Unit``: times are counted in whole units."""
    roundup: bool = False
    """``Time_Roundup``: a fraction of a unit counts as a whole one (otherwise it is free)."""

    @property
    def unlimited(self) -> bool:
        return self.total_ms == self.byoyomi_ms == self.increment_ms == 0

    def limit_ms(self, remaining_ms: int) -> int:
        """The charge at which the flag falls."""
        return remaining_ms + self.byoyomi_ms + self.increment_ms

    def charge(self, elapsed_ms: float) -> int:
        """The charge for a move that took ``elapsed_ms`` on the server's clock, in milliseconds (whole units)."""
        whole, fraction = divmod(max(0.0, elapsed_ms), self.unit_ms)
        units = int(whole) + (1 if self.roundup and fraction > 0 else 0)
        return max(units * self.unit_ms, self.least_ms)

    def flag_falls(self, remaining_ms: int, charged_ms: int) -> bool:
        """Whether a move that is charged ``charged_ms`` comes too late."""
        return not self.unlimited and charged_ms >= self.limit_ms(remaining_ms)

    def after(self, remaining_ms: int, charged_ms: int) -> int:
        """The main time that remains after a move made in time."""
        return max(0, remaining_ms + self.increment_ms - charged_ms)

    def flag_elapsed_ms(self, remaining_ms: int) -> int:
        """The first whole millisecond of the turn at which the flag has fallen."""
        limit = self.limit_ms(remaining_ms)
        units = -(-limit // self.unit_ms)
        if self.least_ms >= limit:
            return 0
        return (units - 1) * self.unit_ms + 1 if self.roundup else units * self.unit_ms


@dataclass(frozen=True, slots=True)
class ClockSettings:
    """Margins and limits of a clock. Times in milliseconds."""

    network_margin_ms: int = 300
    """Kept back for the transit of the opponent's move to us and of ours to the server, and for a busy machine. It
    applies at the start of a game, and is always the minimum. More is kept back once the connection turns out to be
    slower (`Delays`)."""
    most_reserve_ms: int = 1200
    """The hard limit also keeps back a share of the time at stake, up to this, or the worst delay so far. So a
    connection that is bad from the first turn on loses no game if ten seconds are at stake (YaneuraOu's
    ``NetworkDelay2`` is 1120)."""
    reserve_share: float = 0.1
    """Share of the time at stake that the hard limit keeps back, up to ``most_reserve_ms``."""
    most_kept: float = 1.0
    """The hard limit keeps back no more than this share of the time at stake, margin included, however long the delays.
    At 1 the margin is kept back even if that leaves no time: the operator has chosen it for such a time control."""
    slow_mover: int = 100
    """Time for a move, in percent of its planned share of the main time."""
    untouched_ms: int = 2500
    """This part of the main time (but at most a sixth of it) is not planned: it is there for a move that a busy machine
    or a slow line holds up.
    """
    least_ms: int = 20
    """The shortest search, for any time on the clock."""
    unlimited_ms: int = 10_000
    """The time for a move of a game without time limit."""
