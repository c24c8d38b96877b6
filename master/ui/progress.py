"""Progress of long work: bars and the time left at a terminal, else plain lines. On stderr, for all commands alike.

::

    with Bars(say("games")) as bars:
        bar = bars.bar("", 40)
        bar.show(3, "+2 =0 -1", tell=True)     # redrawn at a terminal, else the line "3/40 games, +2 =0 -1, 4 min left"
        bars.note("game 3: B lost on time")    # a line that stays, above the bars
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from master.ui.console import Console
from master.ui.texts import say

_BAR: Final = 20
_NAME: Final = 12
"""Least width in columns at which a long name is cut."""


class Pace:
    """Estimates the time left from the work done since the first call. Pure.

    Work done before (if a run is resumed) does not count, because nobody knows how long it took.
    """

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def begin(self, done: float, now: float) -> None:
        """The work begins, or resumes at ``done``. Only the first call counts."""
        if self._first is None:
            self._first = (done, now)

    def rate(self, done: float, now: float) -> float:
        """The rate per second; 0: not known yet."""
        if self._first is None or done <= self._first[0] or now <= self._first[1]:
            return 0.0
        return (done - self._first[0]) / (now - self._first[1])

    def left_s(self, done: float, total: float | None, now: float) -> float | None:
        """Seconds until ``total``; None: not known."""
        rate = self.rate(done, now)
        return None if total is None or not rate else max(0.0, total - done) / rate


class Bar:
    """One of the bars of `Bars`, which creates it."""

    def __init__(self, bars: Bars, task: TaskID, name: str, total: float | None, at_most: bool, hourly: bool) -> None:
        self.name = name
        self.total = total
        self.done = 0.0
        self.words = ""
        self._bars = bars
        self._task = task
        self._at_most = at_most
        self._hourly = hourly
        self._pace = Pace()

    def begin(self, done: float = 0) -> None:
        """The work begins now, with this much done before."""
        self.done = done
        self._pace.begin(done, self._bars.now())

    def show(
        self, done: float, words: str = "", *, name: str | None = None, total: float | None = None, tell: bool = False
    ) -> None:
        """Show the progress.

        Args:
            words: further text.
            name, total: new values, if they have changed.
            tell: if there is no terminal, print a line.
        """
        self.begin(done)
        self.done, self.words = done, words
        self.name = self.name if name is None else name
        self.total = self.total if total is None else total
        self._bars.update(self._task, self)
        if tell:
            self._bars.tell(self.line())

    def line(self) -> str:
        """All of it in one line: ``3/40 games, +2 =0 -1, 4 min left``."""
        return ", ".join(part for part in (self.name, self.counted(), self.words, self.speed(), self.left()) if part)

    def counted(self) -> str:
        """``3/40 games``."""
        return self._bars.counted(self.done, self.total)

    def speed(self) -> str:
        """``120 games/h``; empty if it was not asked for or is not known yet."""
        rate = self._pace.rate(self.done, self._bars.now()) if self._hourly else 0.0
        return f"{rate * 3600:,.0f} {self._bars.unit}/h" if rate else ""

    def left(self) -> str:
        """``4 min left``; empty if it is not known."""
        seconds = self._pace.left_s(self.done, self.total, self._bars.now())
        if seconds is None or (self.total is not None and self.done >= self.total):
            return ""
        time_left = span(seconds)
        return say("at most {time} left", time=time_left) if self._at_most else say("{time} left", time=time_left)


class Bars:
    """The bars of one piece of work. A context manager: inside it, they are on the screen.

    Args:
        unit: the counted unit. Empty: progress is shown as a percentage.
        stays: whether the bars stay on the screen at the end.
        now: a clock, in seconds.
    """

    def __init__(self, unit: str = "", *, stays: bool = True, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.unit = unit
        self._console = console = Console(stderr=True)
        self.live = console.is_terminal and not console.is_dumb_terminal
        """Whether stderr is a terminal that can be redrawn."""
        self._of: dict[TaskID, Bar] = {}
        names = Column(no_wrap=True, overflow="ellipsis", max_width=max(_NAME, console.width * 2 // 5))
        words = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self._progress = Progress(
            TextColumn("{task.description}", table_column=names),
            BarColumn(bar_width=_BAR),
            _Said(self._of, Bar.counted, Column(no_wrap=True)),
            _Said(self._of, Bar.left, Column(no_wrap=True)),
            _Said(self._of, Bar.speed, Column(no_wrap=True)),
            _Said(self._of, lambda bar: bar.words, words),
            console=console,
            disable=not self.live,
            transient=not stays,
            refresh_per_second=4,
            expand=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def bar(self, name: str, total: float | None, *, at_most: bool = False, hourly: bool = False) -> Bar:
        """Add a bar.

        Args:
            total: the amount at which the work is done; None: not known yet.
            at_most: the work may end sooner.
            hourly: also show the speed, in units per hour.
        """
        task = self._progress.add_task(name, total=total)
        self._of[task] = Bar(self, task, name, total, at_most, hourly)
        return self._of[task]

    def note(self, text: str) -> None:
        """A line that stays, above the bars."""
        if self.live:
            self._console.say(text)
        else:
            self.tell(text)

    def tell(self, text: str) -> None:
        """A line that is printed only if there is no terminal."""
        if not self.live:
            print(text, file=sys.stderr, flush=True)

    def update(self, task: TaskID, bar: Bar) -> None:
        """The bar's text has changed. Only `Bar` calls this."""
        self._progress.update(task, description=bar.name, completed=bar.done, total=bar.total)

    def counted(self, done: float, total: float | None) -> str:
        """The amount done, in the unit. Only `Bar` calls this."""
        if total is None:
            return ""
        return f"{done:,.0f}/{total:,.0f} {self.unit}" if self.unit else f"{done / max(total, 1e-9):.1%}"


class _Said(ProgressColumn):
    """A column with a bar's text."""

    def __init__(self, bars: dict[TaskID, Bar], say_it: Callable[[Bar], str], column: Column) -> None:
        super().__init__(column)
        self._bars = bars
        self._say_it = say_it

    def render(self, task: Task) -> Text:
        bar = self._bars.get(task.id)
        return Text("" if bar is None else self._say_it(bar), no_wrap=True, overflow="ellipsis")


def span(seconds: float) -> str:
    """A time in words: ``50 s``, ``4 min``, ``3 h 20 min``, from two days on ``2 d 4 h``."""
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


class PositionBar(Bars):
    """Progress of an analysis: a bar of positions at a terminal, else a line for each game. ``total``: number of
    positions."""

    def __init__(self, total: int) -> None:
        super().__init__(say("positions"), stays=False)
        self._bar = self.bar(say("starting the searcher"), total)
        self._total = total
        self._done = 0
        self._game = ""
        self._kept = 0

    def game(self, name: str) -> None:
        """The following positions belong to this game."""
        self._game, self._kept = name, 0
        self._bar.show(self._done, name=name)

    def more(self, positions: int) -> None:
        """This many more positions have to be searched."""
        self._total += positions
        self._bar.show(self._done, total=self._total)

    def found(self, _found: object, kept: bool) -> None:
        """A position is known; ``kept``: it was known before."""
        self._kept += kept
        self._done += 1
        self._bar.show(self._done)

    def game_done(self) -> None:
        """All positions of the game are known, and its report is written."""
        kept = say(", {count} positions kept from an earlier run", count=self._kept) if self._kept else ""
        self.tell(say("{game}: done", game=self._game) + kept)

    def on_event(self, name: str, fields: dict[str, object]) -> None:
        """Show an event of the fleet that the user should know."""
        if name == "node_lost":
            words = say("{node} is lost: {reason}", node=fields.get("node"), reason=fields.get("reason"))
            self.note(f"gougi: {words}")
