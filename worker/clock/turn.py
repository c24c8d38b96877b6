"""Our time for one move of a ``go`` line: the single engine's and the fleet's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from worker.clock.charges import Answered
from worker.clock.game_clock import MOST_LATE_MS, GameClock
from worker.clock.outlook import Signs, Watch
from worker.clock.settings import ClockSettings

_BEGIN_SHARE: Final = 0.6
"""An iteration that begins later than this share of the soft time would hardly end within it."""


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """The options about time."""

    clock: ClockSettings
    least_ms: int = 0
    """No move is played sooner, where the time allows that."""
    full_seconds: bool = True
    """Whether a GUI whose times are whole seconds counts only these, so that the rest of each second is free."""
    max_moves: int = 0
    """The number of moves after which the game is drawn; 0: never."""


@dataclass(slots=True)
class Turn:
    """Our time for one move, in milliseconds of the caller's clock."""

    soft_ms: int
    hard_ms: int
    soonest_ms: int
    """Before it to move saves nothing."""
    clock: GameClock | None = None
    """The clock, where the time is ours to choose."""
    watch: Watch = field(default_factory=Watch)
    least_ms: int = 0
    """So much of the least time of a move is still to come."""
    began_ms: float = 0.0
    """The time at which the own time began to run."""
    told_ms: float = 0.0
    """The time at which the search was told of ``hard_ms``, and first of ``soft_ms``, which count from then."""
    _aimed_ms: float = field(init=False)
    """The soonest time after that at which it can have answered by what it was told."""

    def __post_init__(self) -> None:
        self._aimed_ms = self.soft_ms = self._within(self.soft_ms)

    def reconsidered(self, signs: Signs) -> bool:
        """Whether ``soft_ms`` is another, now that the search has come so far."""
        if self.clock is None:
            return False
        before, self.soft_ms = self.soft_ms, self._within(self.clock.reconsidered(self.watch.see(signs)))
        self._aimed_ms = max(self.soft_ms, signs.elapsed_ms)
        return self.soft_ms != before

    def goes_on(self, signs: Signs, now_ms: float) -> bool:
        """Whether an engine that is asked between its iterations is to begin another one.

        Where that saves nothing (byoyomi, the rest of a second that is charged) it is never worth to end early: an
        iteration that is cut short is worth more than none.
        """
        if self.clock is None:
            return True
        self.reconsidered(signs)
        return now_ms - self.told_ms < max(self.soonest_ms, self.soft_ms * _BEGIN_SHARE)

    def free_until_ms(self, now_ms: float) -> float:
        """The time up to which the move costs no more than now, where whole seconds are charged."""
        if self.clock is None:
            return now_ms
        return self.told_ms + self.clock.free_until_ms(now_ms - self.told_ms)

    def answered(self, now_ms: float, *, aimed: bool = True) -> Answered:
        """The move goes out.

        Args:
            aimed: whether the searcher was to answer at ``soft_ms``; else it may end an iteration behind that.
        """
        late = [max(0.0, now_ms - self.told_ms - moment) for moment in (self._aimed_ms, self.hard_ms)]
        return Answered(now_ms - self.began_ms, min(late[0], MOST_LATE_MS) if aimed else 0.0, late[1])

    def _within(self, soft_ms: int) -> int:
        return min(max(soft_ms, self.least_ms), self.hard_ms)
