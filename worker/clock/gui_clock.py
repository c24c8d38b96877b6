"""The clock of an engine under a GUI: each ``go`` has its own times, and each move's charge improves the estimate for
the next."""

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
    """The options that concern time."""

    clock: ClockSettings
    least_ms: int = 0
    """No move is played sooner, if the time allows."""
    full_seconds: bool = True
    """Whether a GUI that sends whole seconds also charges only whole seconds, so that fractions are free."""
    max_moves: int = 0
    """The number of moves after which the game is drawn; 0: never."""


@dataclass(slots=True)
class Turn:
    """Our time for one move, in milliseconds of the caller's clock."""

    soft_ms: int
    hard_ms: int
    soonest_ms: int
    """Moving before this time saves nothing."""
    clock: GameClock | None = None
    """The clock, if we choose the time."""
    watch: Watch = field(default_factory=Watch)
    least_ms: int = 0
    """The part of the minimum time of a move that is still ahead."""
    began_ms: float = 0.0
    """When our own time began to run."""
    told_ms: float = 0.0
    """When the search was given ``hard_ms`` and its first ``soft_ms``, which count from then."""
    _aimed_ms: float = field(init=False)
    """The earliest time after that at which the search could answer with its soft time."""

    def __post_init__(self) -> None:
        self._aimed_ms = self.soft_ms = self._within(self.soft_ms)

    def reconsidered(self, signs: Signs) -> bool:
        """Whether the search's progress changes ``soft_ms``; if so, it is updated."""
        if self.clock is None:
            return False
        before, self.soft_ms = self.soft_ms, self._within(self.clock.reconsidered(self.watch.see(signs)))
        self._aimed_ms = max(self.soft_ms, signs.elapsed_ms)
        return self.soft_ms != before

    def goes_on(self, signs: Signs, now_ms: float) -> bool:
        """Whether an engine that asks between its iterations should begin another one.

        If ending early saves nothing (byoyomi, the rest of a charged second), the engine continues: an interrupted
        iteration is better than none.
        """
        if self.clock is None:
            return True
        self.reconsidered(signs)
        return now_ms - self.told_ms < max(self.soonest_ms, self.soft_ms * _BEGIN_SHARE)

    def free_until_ms(self, now_ms: float) -> float:
        """The time up to which the move costs no more than now, if whole seconds are charged."""
        if self.clock is None:
            return now_ms
        return self.told_ms + self.clock.free_until_ms(now_ms - self.told_ms)

    def answered(self, now_ms: float, *, aimed: bool = True) -> Answered:
        """Note that the move goes out.

        Args:
            aimed: whether the searcher was to answer at ``soft_ms``; otherwise it may run one iteration longer.
        """
        late = [max(0.0, now_ms - self.told_ms - moment) for moment in (self._aimed_ms, self.hard_ms)]
        return Answered(now_ms - self.began_ms, min(late[0], MOST_LATE_MS) if aimed else 0.0, late[1])

    def _within(self, soft_ms: int) -> int:
        return min(max(soft_ms, self.least_ms), self.hard_ms)


_MOST_PLIES: Final = 4
"""A score from more plies ago says nothing about this position."""


@dataclass(frozen=True, slots=True)
class LastScore:
    """A search's score, and its position: a start position and the moves since. Without arguments: none."""

    sfen: str = ""
    moves: tuple[str, ...] = ()
    score: int = 0

    def at(self, sfen: str, moves: tuple[str, ...]) -> int | None:
        """The score for the side to move after ``moves``; None: this is not the same game a few plies later."""
        plies = len(moves) - len(self.moves)
        if sfen != self.sfen or moves[: len(self.moves)] != self.moves or not 0 < plies <= _MOST_PLIES:
            return None
        return -self.score if plies % 2 else self.score


_SECOND_MS: Final = 1000
_MOST_MS: Final = 10_000
"""An excess charge above this is not a delay: the user set the clocks or looked at another position."""


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
        """The smallest and largest possible charge for our move in between; None: unknown."""
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
    """A move of ours, in milliseconds: how long we took for it, and how long after the soft and hard time it went
    out."""

    thought_ms: float
    after_soft_ms: float
    after_hard_ms: float


class Charges:
    """A GUI's charges for our moves beyond our own measurement, estimated from the times in its ``go`` lines.

    USI has no echo of a move, but the next ``go`` gives the remaining time, and so the charge for the last move. The
    difference from our own thinking time was spent by the GUI, the engine and anything between them (a server, a
    network, a busy machine). If the GUI counts whole seconds, the charge is uncertain by up to one second; in byoyomi
    it is unknown.
    """

    def __init__(self) -> None:
        self._start_ms = 0
        self._delays = Delays(0)
        self._asked: Asked | None = None
        self._answered: Answered | None = None
        """The answer to that, once it has gone out."""

    def delays(self, start_ms: int) -> Delays:
        """The delays so far; starts again if the expected start delay has changed."""
        if start_ms != self._start_ms:
            self._start_ms, self._delays = start_ms, Delays(start_ms)
        return self._delays

    def asked(self, asked: Asked) -> None:
        """A move is requested: learn the charge for the last one."""
        before, ours = self._asked, self._answered
        self._asked, self._answered = asked, None
        charged = None if before is None or ours is None else before.charged(asked)
        if ours is None or charged is None:
            return
        least, most = (bound - ours.thought_ms for bound in charged)
        if most < 0 or least > _MOST_MS:
            return
        # If the charge leaves a range open, assume the same delay as before any measurement.
        delay_ms = max(0.0, min(max(self._start_ms / 2, least), most))
        self._delays.add(delay_ms, ours.after_soft_ms, ours.after_hard_ms)

    def answered(self, answered: Answered) -> None:
        """The last requested move goes out."""
        self._answered = answered


CLOCK_WORDS: Final = frozenset({"btime", "wtime", "byoyomi", "binc", "winc"})


class GuiClock:
    """The memory of one GUI's clock and the current game; the single engine and the fleet have one each.

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
        """The times of a ``go`` line for the position ``moves`` after ``sfen``; None: it gives no times.

        The GUI's times do not include the move's increment, which is already available for this move (USI).

        Args:
            numbers: the numbers in the line, such as ``btime``, ``wtime``, ``binc``, ``winc``, ``byoyomi``,
            ``movetime``. colour: the side to move.
            ply: moves made so far in the game.
            began_ms: when our own time began to run.
            now_ms: the current time; the time since ``began_ms`` is deducted.
            watch: follows the search; None: a new one.
            known_ms: time for which this position was searched before the turn began.
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
        """Note that the move of ``turn`` goes out.

        Args:
            score: the move's score, if it is exact; None: not known.
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
        total = 1  # not an untimed game: our flag is about to fall
    # A time with a fraction of a second shows that milliseconds count: then the flag can fall within a second too.
    whole = time_options.full_seconds and (total + increment + byoyomi) % _SECOND_MS == 0
    return TimeControl(total, byoyomi, increment, unit_ms=_SECOND_MS if whole else 1)
