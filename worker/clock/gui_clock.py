"""The clock of an engine behind a GUI, move after move: each ``go`` has its times, and a move teaches the next one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from worker.clock.delays import Delays
from worker.clock.game_clock import MOST_LATE_MS, GameClock
from worker.clock.outlook import Signs, Watch
from worker.clock.timecontrol import ClockSettings, TimeControl

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


_MOST_PLIES: Final = 4
"""A score from longer ago says nothing of this position."""


@dataclass(frozen=True, slots=True)
class LastScore:
    """A search's score, and the position that it is of: a start and the moves since. Without arguments: none."""

    sfen: str = ""
    moves: tuple[str, ...] = ()
    score: int = 0

    def at(self, sfen: str, moves: tuple[str, ...]) -> int | None:
        """The score for the side to move after ``moves``; None: this is not the same game some plies on."""
        plies = len(moves) - len(self.moves)
        if sfen != self.sfen or moves[: len(self.moves)] != self.moves or not 0 < plies <= _MOST_PLIES:
            return None
        return -self.score if plies % 2 else self.score


_SECOND_MS: Final = 1000
_MOST_MS: Final = 10_000
"""A move that was charged so much more than it took was no delay: somebody has set the clocks, or looked at something
else."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``go`` line: the position, by its moves since ``sfen``, and the times of the side to move."""

    sfen: str
    moves: tuple[str, ...]
    left_ms: int
    increment_ms: int
    byoyomi_ms: int

    @classmethod
    def of(cls, sfen: str, moves: tuple[str, ...], turn: int, numbers: Mapping[str, int]) -> Asked:
        side = "bw"[turn]
        left, increment = numbers.get(f"{side}time", 0), numbers.get(f"{side}inc", 0)
        return cls(sfen, moves, left, increment, numbers.get("byoyomi", 0))

    def charged(self, after: Asked) -> tuple[int, float] | None:
        """The charge for our move in between, at the least and the most; None: it cannot be told."""
        charged = self.left_ms + self.increment_ms - after.left_ms
        goes_on = after.sfen == self.sfen and len(after.moves) == len(self.moves) + 2
        if not goes_on or after.moves[:-2] != self.moves or self.left_ms == 0 or charged < 0:
            return None
        if after.left_ms == 0:
            return charged, math.inf
        whole = not any(time % _SECOND_MS for time in (self.left_ms, self.increment_ms, after.left_ms))
        return charged, charged + _SECOND_MS if whole else charged


@dataclass(frozen=True, slots=True)
class Answered:
    """A move of ours, in milliseconds: how long we took for it, and so long after the moments to aim at it went out."""

    thought_ms: float
    after_soft_ms: float
    after_hard_ms: float


class Charges:
    """A GUI's charges for our moves beyond our own measurement, learned from the times of its ``go`` lines.

    USI has no echo of a move, but the next ``go`` says what is left, and so what the last move was charged: GUI, engine
    and what lies between (a server, a network, a busy machine) took the difference to our own thinking. A GUI that
    counts whole seconds leaves it open by up to one; in byoyomi nothing is told at all.
    """

    def __init__(self) -> None:
        self._start_ms = 0
        self._delays = Delays(0)
        self._asked: Asked | None = None
        self._answered: Answered | None = None
        """The answer to that, once it went out."""

    def delays(self, start_ms: int) -> Delays:
        """The delays so far; none yet where another one is to be expected at the start than before."""
        if start_ms != self._start_ms:
            self._start_ms, self._delays = start_ms, Delays(start_ms)
        return self._delays

    def asked(self, asked: Asked) -> None:
        """A move is asked for: learn what the last one was charged."""
        before, ours = self._asked, self._answered
        self._asked, self._answered = asked, None
        charged = None if before is None or ours is None else before.charged(asked)
        if ours is None or charged is None:
            return
        least, most = (bound - ours.thought_ms for bound in charged)
        if most < 0 or least > _MOST_MS:
            return
        # Within what is left open it is taken for what it is taken for before anything is measured.
        delay_ms = max(0.0, min(max(self._start_ms / 2, least), most))
        self._delays.add(delay_ms, ours.after_soft_ms, ours.after_hard_ms)

    def answered(self, answered: Answered) -> None:
        """The move that was asked for last goes out."""
        self._answered = answered


CLOCK_WORDS: Final = frozenset({"btime", "wtime", "byoyomi", "binc", "winc"})


class GuiClock:
    """The memory of one GUI's clock, and of the game that it plays; the single engine and the fleet have one each.

    Times are milliseconds of the caller's clock.
    """

    def __init__(self) -> None:
        self.charges = Charges()
        self._last_score = LastScore()
        self._typical_stretch = 1.0

    def expected_score(self, sfen: str, moves: tuple[str, ...]) -> int | None:
        """The score of our last move for the side to move now; None: not known."""
        return self._last_score.at(sfen, moves)

    def turn(
        self,
        numbers: Mapping[str, int],
        sfen: str,
        moves: tuple[str, ...],
        time_options: TimeOptions,
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
            (_control(numbers, "b", time_options), _control(numbers, "w", time_options)),
            time_options.clock,
            turn=colour,
            now_ms=began_ms,
            delays=self.charges.delays(time_options.clock.network_margin_ms),
            typical_stretch=self._typical_stretch,
        )
        score = self.expected_score(sfen, moves)
        budget = clock.budget(now_ms, ply, time_options.max_moves or None, known_ms, score)
        least_ms = time_options.least_ms - gone
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
            self._last_score = LastScore(sfen, moves, score)


def _control(numbers: Mapping[str, int], side: str, time_options: TimeOptions) -> TimeControl:
    total, increment, byoyomi = (numbers.get(word, 0) for word in (f"{side}time", f"{side}inc", "byoyomi"))
    if not total + increment + byoyomi and any(numbers.get(word) for word in CLOCK_WORDS):
        total = 1  # no game without limit: our flag is about to fall
    # A time with a fraction of a second was counted in milliseconds: there the flag falls within a second too.
    whole = time_options.full_seconds and (total + increment + byoyomi) % _SECOND_MS == 0
    return TimeControl(total, byoyomi, increment, unit_ms=_SECOND_MS if whole else 1)
