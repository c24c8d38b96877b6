"""The clock of an engine behind a GUI, move after move: each ``go`` has its times, and a move teaches the next one."""

from __future__ import annotations

from collections.abc import Mapping

from worker.clock.charges import Asked, Charges
from worker.clock.outlook import Watch
from worker.clock.promise import Promise
from worker.clock.turn import Habits, Turn


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
        """The time of a ``go`` line for the position ``moves`` after ``sfen``, as `Turn.of` has it."""
        self.charges.asked(Asked.of(sfen, moves, colour, numbers))
        return Turn.of(
            numbers,
            colour,
            ply,
            habits,
            began_ms=began_ms,
            now_ms=now_ms,
            watch=watch,
            known_ms=known_ms,
            score=self.promised(sfen, moves),
            delays=self.charges.delays(habits.clock.network_margin_ms),
            typical_stretch=self._typical_stretch,
        )

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
