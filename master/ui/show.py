"""Shows a game while it is played: live on a terminal, otherwise line by line."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final, Self

import structlog
from rich.live import Live

from master.player.events import GameBegan, GameEnded, GameEvent
from master.records.notation import Notation
from master.ui.console import Console
from master.ui.lines import LineView
from master.ui.model import GameView, SeriesView
from master.ui.outlet import SteadyWriter
from master.ui.progress import span
from master.ui.screen import REFRESH_S, GameScreen
from master.ui.texts import later, say

_log: structlog.stdlib.BoundLogger = structlog.get_logger("output")

MOST_DRAWING: Final = 0.02
"""Maximum share of a core for drawing, as long as there is still a picture every `LONGEST_S`."""
LONGEST_S: Final = 2.0

_PROGRESS: Final = {
    "ray_starting": later("connecting to Ray at {address}"),
    "node_starting": later("starting {node}"),
    "node_ready": later("{node} is ready: {engine}, process {pid} on {host}"),
}
"""Messages for the steps of the fleet's start."""


class Show:
    """The terminal during games. An async context manager: inside, the screen is redrawn up to five times a second.

    Args:
        warnings: receives the log's messages; also those of the full screen, once that is closed.
        now: the clock of the events, in seconds.
        drain: waits until the console has all output. Raises OSError if it cannot be written.
    """

    def __init__(
        self,
        console: Console,
        warnings: Console,
        *,
        plain: bool = False,
        now: Callable[[], float] = time.monotonic,
        games: int | None = 1,
        notation: Notation = Notation.JAPANESE,
        drain: Callable[[], None] = lambda: None,
    ) -> None:
        self.console = console
        self._warnings = warnings
        self._held: list[str] = []
        """Warnings that were held back while the full screen was on."""
        self._undrawn = ""
        """The reason why the last drawing failed."""
        self._said: list[str] = []
        """Lines that were held back while it was on."""
        self.view = GameView(now, notation)
        self._series = SeriesView(games, now)
        self._lines = LineView(self.view, self.say) if plain or not can_be_live(console) else None
        self._live: Live | None = None
        self._hung_up = False
        self._steady = SteadyWriter(console.say)
        self._drain = drain
        self._painter: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._painter = asyncio.create_task(self._paint())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._painter is not None:
            self._painter.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._painter
        self._stop()

    def say(self, line: str) -> None:
        """A line of text. If the screen is on: one of its notes, and a line once it is closed. `settle` raises an
        OSError."""
        if self._live is None:
            self._steady(line)
            return
        self.view.note(line)
        self._said.append(line)

    def settle(self) -> None:
        """Raise the first OSError of the lines that could not be written, unless the terminal was closed."""
        if not self._hung_up:
            self._steady.attempt(self._drain)
            self._steady.settle()

    def hang_up(self) -> None:
        """The terminal was closed: nothing is drawn from now on, and the log says that the games continue."""
        self._hung_up = True
        self._stop()
        _log.warning("terminal_closed", why="SIGHUP", then="the games go on without their screen, as under nohup")

    def warn(self, line: str) -> None:
        """A message of the log. If the screen is on, it first appears among its notes. Any thread."""
        if self._live is not None:
            self.view.note(line)
        if self._live is not None and self._warnings.is_terminal:
            self._held.append(line)
        else:
            self._say_warning(line)

    def page_ready(self, url: str) -> None:
        """Show the live page's address, in a line and on each screen; any thread."""
        self.view.page = url
        line = say("live page: {url}", url=url)
        if self._live is None:
            self.say(line)
        else:
            self._said.append(line)

    def fleet_event(self, name: str, fields: dict[str, object]) -> None:
        """Show a step of the fleet's start."""
        text = _PROGRESS.get(name)
        if text is not None and self._live is None:
            self.say(say(text, **fields))

    def observe(self, event: GameEvent) -> None:
        """Take an event of the player that is shown."""
        self.view.observe(event)
        self._series.observe(event)
        if self._lines is not None:
            self._lines.observe(event)
            self._tell_series(event)
        elif isinstance(event, GameBegan) and not self._hung_up:
            self._stop()
            # Only `_paint` redraws, on the event loop, never a thread.
            self._live = self._new_screen()
            self._steady.attempt(self._draw)
        elif isinstance(event, GameEnded):
            self._stop()

    def _tell_series(self, event: GameEvent) -> None:
        """Show the progress of the series after each game except the last."""
        done, total = self._series.done, self._series.total
        if isinstance(event, GameEnded) and event.outcome.played and total is not None and done < total:
            left = self._series.left_s
            words = say("{done} of {total} games", done=done, total=total)
            self.say(words if left is None else f"{words}, {say('{time} left', time=span(left))}")

    async def _paint(self) -> None:
        pause_s = REFRESH_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = REFRESH_S
            if self._live is not None:
                began_s = time.thread_time()
                try:
                    self._steady.attempt(self._draw)
                    self._undrawn = ""
                except Exception as error:
                    if repr(error) != self._undrawn:
                        _log.exception("screen_not_drawn")
                    self._undrawn = repr(error)
                # Nodes may search on this core too, and a fleet's screen grows with it.
                took_s = time.thread_time() - began_s
                pause_s = min(LONGEST_S, max(REFRESH_S, took_s / MOST_DRAWING))

    def _new_screen(self) -> Live:
        return Live(GameScreen(self.view, self._series), console=self.console, auto_refresh=False, screen=True)

    def _draw(self) -> None:
        if self._live is None:
            return
        if self._live.is_started:
            self._live.refresh()
            return
        try:
            self._live.start(refresh=True)
        except OSError:
            # It may have begun in part, and ending that part may fail too; the next picture starts afresh.
            with contextlib.suppress(OSError, IndexError):
                self._live.stop()
            self._live = self._new_screen()
            raise

    def _stop(self) -> None:
        """Leave the full screen, and the last picture on the terminal."""
        if self._live is not None:
            live, self._live = self._live, None
            self._steady.attempt(live.stop)
            self._steady.attempt(lambda: self.console.print(GameScreen(self.view, self._series)))
            said, self._said = self._said, []
            for line in said:
                self._steady(line)
            held, self._held = self._held, []
            for line in held:
                self._say_warning(line)

    def _say_warning(self, line: str) -> None:
        with contextlib.suppress(OSError):  # it is in the log
            self._warnings.say(line)


def can_be_live(console: Console) -> bool:
    """Whether the terminal can be redrawn."""
    return console.is_terminal and not console.is_dumb_terminal
