"""Our time for one move, by the words of its ``go`` line: the single engine's and the fleet's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from worker.clock.charges import Answered
from worker.clock.delays import Delays
from worker.clock.game_clock import MOST_LATE_MS, GameClock
from worker.clock.outlook import Signs, Watch
from worker.clock.settings import ClockSettings
from worker.clock.timecontrol import TimeControl

CLOCK_WORDS: Final = frozenset({"btime", "wtime", "byoyomi", "binc", "winc"})
_SECOND_MS: Final = 1000
_LONGEST_MS: Final = 10**9
_BEGIN_SHARE: Final = 0.6
"""An iteration that begins later than this share of the soft time would hardly end within it."""


@dataclass(frozen=True, slots=True)
class Habits:
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
    _least_ms: int = 0
    _began_ms: float = 0.0
    _told_ms: float = 0.0
    """The time at which the search was told of ``hard_ms``, and first of ``soft_ms``, which count from then."""
    _aimed_ms: float = 0.0
    """The soonest time after that at which it can have answered by what it was told."""

    @classmethod
    def of(
        cls,
        numbers: Mapping[str, int],
        colour: int,
        ply: int,
        habits: Habits,
        *,
        began_ms: float,
        now_ms: float,
        watch: Watch | None = None,
        known_ms: float = 0.0,
        score: int | None = None,
        delays: Delays | None = None,
        typical_stretch: float = 1.0,
    ) -> Turn | None:
        """The times of a ``go`` line; None: it has none.

        Times of the GUI are those before the move's increment is added, which is there for the move already (USI).

        Args:
            numbers: of the line, among them ``btime``, ``wtime``, ``binc``, ``winc``, ``byoyomi``, ``movetime``.
            colour: whose move it is.
            ply: moves made so far in the game.
            began_ms: when the own time began to run.
            now_ms: what has gone of it since then is taken off.
            watch: follows the search; None: a new one.
            known_ms: so much search of this position was done before the turn began.
            score: of our last move, for us; None: not known.
            delays: what the GUI's clock was found to take beyond our own; None: nothing is known of that.
            typical_stretch: as `GameClock.typical_stretch` has it of the moves before.
        """
        gone = int(now_ms - began_ms)
        if "movetime" in numbers:
            left = max(1, min(numbers["movetime"], _LONGEST_MS) - gone)
            return cls(left, left, left)
        if not numbers.keys() & CLOCK_WORDS:
            return None
        controls = _control(numbers, "b", habits), _control(numbers, "w", habits)
        clock = GameClock(
            controls, habits.clock, turn=colour, now_ms=began_ms, delays=delays, typical_stretch=typical_stretch
        )
        budget = clock.budget(now_ms, ply, habits.max_moves or None, known_ms, score)
        turn = cls(
            budget.soft_ms,
            budget.hard_ms,
            min(max(clock.soonest_ms(), habits.least_ms - gone), budget.hard_ms),
            clock,
            watch or Watch(score),
            habits.least_ms - gone,
            began_ms,
            now_ms,
        )
        turn._aimed_ms = turn.soft_ms = turn._within(budget.soft_ms)
        return turn

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
        return now_ms - self._told_ms < max(self.soonest_ms, self.soft_ms * _BEGIN_SHARE)

    def answered(self, now_ms: float, *, aimed: bool = True) -> Answered:
        """The move goes out.

        Args:
            aimed: whether the searcher was to answer at ``soft_ms``; else it may end an iteration behind that.
        """
        late = [max(0.0, now_ms - self._told_ms - moment) for moment in (self._aimed_ms, self.hard_ms)]
        return Answered(now_ms - self._began_ms, min(late[0], MOST_LATE_MS) if aimed else 0.0, late[1])

    def _within(self, soft_ms: int) -> int:
        return min(max(soft_ms, self._least_ms), self.hard_ms)


def _control(numbers: Mapping[str, int], side: str, habits: Habits) -> TimeControl:
    total, increment, byoyomi = (
        min(numbers.get(word, 0), _LONGEST_MS) for word in (f"{side}time", f"{side}inc", "byoyomi")
    )
    # A time with a fraction of a second was counted in milliseconds: there the flag falls within a second too.
    whole = habits.full_seconds and (total + increment + byoyomi) % _SECOND_MS == 0
    return TimeControl(total, byoyomi, increment, unit_ms=_SECOND_MS if whole else 1)
