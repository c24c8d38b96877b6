"""The clock of an engine behind a GUI, move after move: each ``go`` has its times, and a move teaches the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from worker.clock.charges import Asked, Charges
from worker.clock.game_clock import GameClock
from worker.clock.outlook import Watch
from worker.clock.promise import Promise
from worker.clock.timecontrol import TimeControl
from worker.clock.turn import Habits, Turn

CLOCK_WORDS: Final = frozenset({"btime", "wtime", "byoyomi", "binc", "winc"})
_SECOND_MS: Final = 1000


class GuiClock:
    """The memory of one GUI's clock, and of the game that it plays; the single engine and the fleet have one each.

    Times are milliseconds of the caller's clock.
    """

    def __init__(self) -> None:
        self.charges = Charges()
        self._promise = Promise()
        self._typical_stretch = 1.0

    def promised(self, sfen: str, moves: tuple[str, ...]) -> int | None:
        """The score that our last move promises to the side to move; None: none."""
        return self._promise.at(sfen, moves)

    def turn(
        self,
        numbers: Mapping[str, int],
        sfen: str,
        moves: tuple[str, ...],
        habits: Habits,
        *,
        colour: int,
        ply: int,
        began_ms: float,
        now_ms: float,
        watch: Watch | None = None,
        known_ms: float = 0.0,
    ) -> Turn | None:
        """The times of a ``go`` line for the position ``moves`` after ``sfen``; None: it has none.

        Times of the GUI are those before the move's increment is added, which is there for the move already (USI).

        Args:
            numbers: of the line, among them ``btime``, ``wtime``, ``binc``, ``winc``, ``byoyomi``, ``movetime``.
            colour: whose move it is.
            ply: moves made so far in the game.
            began_ms: when the own time began to run.
            now_ms: what has gone of it since then is taken off.
            watch: follows the search; None: a new one.
            known_ms: so much search of this position was done before the turn began.
        """
        self.charges.asked(Asked.of(sfen, moves, colour, numbers))
        gone = int(now_ms - began_ms)
        if "movetime" in numbers:
            left = max(1, numbers["movetime"] - gone)
            return Turn(left, left, left)
        if not numbers.keys() & CLOCK_WORDS:
            return None
        clock = GameClock(
            (_control(numbers, "b", habits), _control(numbers, "w", habits)),
            habits.clock,
            turn=colour,
            now_ms=began_ms,
            delays=self.charges.delays(habits.clock.network_margin_ms),
            typical_stretch=self._typical_stretch,
        )
        score = self.promised(sfen, moves)
        budget = clock.budget(now_ms, ply, habits.max_moves or None, known_ms, score)
        least_ms = habits.least_ms - gone
        soonest_ms = min(max(clock.soonest_ms(), least_ms), budget.hard_ms)
        watch = watch or Watch(score)
        return Turn(budget.soft_ms, budget.hard_ms, soonest_ms, clock, watch, least_ms, began_ms, now_ms)

    def answered(
        self,
        turn: Turn,
        sfen: str,
        moves: tuple[str, ...],
        score: int | None,
        now_ms: float,
        *,
        aimed: bool,
    ) -> None:
        """The move of ``turn`` goes out.

        Args:
            score: of it, where it is exact; None: not known.
            aimed: as in `Turn.answered`.
        """
        if turn.clock is None:
            return
        self.charges.answered(turn.answered(now_ms, aimed=aimed))
        self._typical_stretch = turn.clock.typical_stretch
        if score is not None:
            self._promise = Promise(sfen, moves, score)


def _control(numbers: Mapping[str, int], side: str, habits: Habits) -> TimeControl:
    total, increment, byoyomi = (numbers.get(word, 0) for word in (f"{side}time", f"{side}inc", "byoyomi"))
    if not total + increment + byoyomi and any(numbers.get(word) for word in CLOCK_WORDS):
        total = 1  # no game without limit: our flag is about to fall
    # A time with a fraction of a second was counted in milliseconds: there the flag falls within a second too.
    whole = habits.full_seconds and (total + increment + byoyomi) % _SECOND_MS == 0
    return TimeControl(total, byoyomi, increment, unit_ms=_SECOND_MS if whole else 1)
