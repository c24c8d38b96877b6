"""The limits of one search, and its time, by the words of its ``go`` line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from cluster.api import Known, Progress, SearchRequest
from master.usi.charges import Answered
from worker.clock import MOST_LATE_MS, ClockSettings, Delays, GameClock, Watch
from worker.clock.timecontrol import TimeControl

if TYPE_CHECKING:
    from worker.shogi import Position

CLOCK_WORDS: Final = frozenset({"btime", "wtime", "byoyomi", "binc", "winc"})
_SECOND_MS: Final = 1000
_LONGEST_MS: Final = 10**9
_MOST_NODES: Final = 1 << 53
_DEEPEST: Final = 500


@dataclass(frozen=True, slots=True)
class Habits:
    """The options about time and limits."""

    clock: ClockSettings
    least_ms: int = 0
    """No move is played sooner, where the time allows that."""
    full_seconds: bool = True
    """Whether a GUI whose times are whole seconds counts only these, so that the rest of each second is free."""
    max_moves: int = 0
    """The number of moves after which the game is drawn; 0: never."""
    nodes: int = 0
    """The most nodes of the fleet where the order names none; 0: no limit. ``depth`` likewise."""
    depth: int = 0


def bounded(request: SearchRequest, numbers: Mapping[str, int], habits: Habits, live_nodes: int) -> SearchRequest:
    """``request`` with the node and depth limits of a ``go`` line.

    Args:
        numbers: of the line, among them ``nodes`` of the whole fleet, and ``depth``.
        live_nodes: how many nodes share the node limit.
    """
    nodes, depth = numbers.get("nodes") or habits.nodes, numbers.get("depth") or habits.depth
    return replace(
        request,
        nodes=max(1, min(nodes, _MOST_NODES) // max(1, live_nodes)) if nodes else None,
        depth=min(depth, _DEEPEST) if depth else None,
    )


@dataclass(slots=True)
class Turn:
    """Our time for one move, in milliseconds of the driver's clock."""

    soft_ms: int
    hard_ms: int
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
        position: Position,
        habits: Habits,
        *,
        began_ms: float,
        now_ms: float,
        known: Known | None,
        delays: Delays | None = None,
    ) -> Turn | None:
        """The times of a ``go`` line; None: it has none.

        Times of the GUI are those before the move's increment is added, which is there for the move already (USI).

        Args:
            numbers: of the line, among them ``btime``, ``wtime``, ``binc``, ``winc``, ``byoyomi``, ``movetime``.
            position: whose side to move has the time.
            began_ms: when the own time began to run.
            now_ms: what has gone of it since then is taken off.
            known: what was found about the position while pondering.
            delays: what the GUI's clock was found to take beyond our own; None: nothing is known of that.
        """
        gone = int(now_ms - began_ms)
        if "movetime" in numbers:
            left = max(1, min(numbers["movetime"], _LONGEST_MS) - gone)
            return cls(left, left)
        if not numbers.keys() & CLOCK_WORDS:
            return None
        controls = _control(numbers, "b", habits), _control(numbers, "w", habits)
        clock = GameClock(controls, habits.clock, turn=position.turn, now_ms=began_ms, delays=delays)
        move, known_ms = ("", 0) if known is None else (known.move, known.fleet_ms)
        budget = clock.budget(now_ms, position.move_number - 1, habits.max_moves or None, known_ms)
        watch = Watch(move=move, known_ms=known_ms)
        turn = cls(budget.soft_ms, budget.hard_ms, clock, watch, habits.least_ms - gone, began_ms, now_ms)
        turn._aimed_ms = turn.soft_ms = turn._within(budget.soft_ms)
        return turn

    def reconsidered(self, progress: Progress) -> bool:
        """Whether ``soft_ms`` is another, now that the search has come so far."""
        if self.clock is None:
            return False
        move = progress.pv[0] if progress.pv else ""
        outlook = self.watch.see(progress.elapsed_ms, move, progress.score, progress.agreement)
        before, self.soft_ms = self.soft_ms, self._within(self.clock.reconsidered(outlook))
        self._aimed_ms = max(self.soft_ms, progress.elapsed_ms)
        return self.soft_ms != before

    def answered(self, now_ms: float) -> Answered:
        """The move goes out."""
        late = [max(0.0, now_ms - self._told_ms - moment) for moment in (self._aimed_ms, self.hard_ms)]
        return Answered(now_ms - self._began_ms, min(late[0], MOST_LATE_MS), late[1])

    def _within(self, soft_ms: int) -> int:
        return min(max(soft_ms, self._least_ms), self.hard_ms)


def _control(numbers: Mapping[str, int], side: str, habits: Habits) -> TimeControl:
    total, increment, byoyomi = (
        min(numbers.get(word, 0), _LONGEST_MS) for word in (f"{side}time", f"{side}inc", "byoyomi")
    )
    # A time with a fraction of a second was counted in milliseconds: there the flag falls within a second too.
    whole = habits.full_seconds and (total + increment + byoyomi) % _SECOND_MS == 0
    return TimeControl(total, byoyomi, increment, unit_ms=_SECOND_MS if whole else 1)
