"""Runs `master.usi.front` on standard input and output, a fleet, a book and a mate solver.

Reading and writing have threads of their own: neither a file as standard input nor a GUI that reads slowly blocks the
event loop, which must receive the fleet's heartbeats.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

import structlog

from cluster import api
from master.usi.front import FleetFront
from master.usi.options import Event, FleetEvent, FleetOptions, FleetPlan, Instruction
from worker.book import BookPlayer
from worker.usi import events
from worker.usi.gui_reader import GuiReader
from worker.usi.side_tasks import Mates, ask_book, open_book

log: structlog.stdlib.BoundLogger = structlog.get_logger("usi")

MOST_MATE_MB: Final = 1024
"""The mate solver's share of ``USI_Hash``: it is one process on the master's machine."""

Log = Callable[[str, dict[str, object]], None]


class NetworkError(api.FleetError):
    """The requested network cannot be used."""


class UsiDriver:
    """One GUI's session.

    Args:
        build: makes a fleet, not yet open; called in a thread. Raises FleetError: it would not open; `NetworkError`:
            the same, and no other fleet may play in its place.
        write: writes a line to the GUI; called from a thread of its own. Raises OSError: the GUI is gone.
        watch: gets every event and instruction of the front; must not block.
    """

    def __init__(
        self,
        options: FleetOptions,
        build: Callable[[FleetPlan], api.Searcher],
        write: Callable[[str], None],
        on_event: Log = lambda _name, _fields: None,
        rng: random.Random | None = None,
        watch: Callable[[Event | Instruction], None] = lambda _what: None,
    ) -> None:
        self._watch = watch
        self._build = build
        self._write = write
        self._on_event = on_event
        self._front = FleetFront(options)
        self._book = BookPlayer(rng or random.Random())
        self._mates: Mates | None = None
        self._searcher: api.Searcher | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._hears = api.SearchListener(self._events.put_nowait, self._events.put_nowait, self._events.put_nowait)
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._code: int | None = None
        self.error = ""
        """The reason for an exit code other than 0."""

    async def run(self, gui: GuiReader) -> int:
        """Serve until ``quit`` or the end of the GUI's lines. Returns the exit code.

        Cancelled, or at the end, everything that was opened is closed.
        """
        loop = asyncio.get_running_loop()
        self._mates = Mates(lambda solved: self._tell(loop, solved), MOST_MATE_MB)

        def hear(line: str | None) -> None:
            self._tell(loop, events.GuiGone() if line is None else events.GuiLine(line, _now_ms()))

        gui.forward(hear)
        writer = threading.Thread(target=self._write_all, args=(loop,), name="gui-out", daemon=True)
        writer.start()
        try:
            while self._code is None:
                event = await self._next()
                self._watch(event)
                instructions = deque(self._front.handle(event, _now_ms()))
                while instructions:
                    instruction = instructions.popleft()
                    if isinstance(instruction, events.AskBook):
                        # Answered at once: a new search must not wait for lines that arrived after its go.
                        instructions += self._front.handle(ask_book(self._book, instruction), _now_ms())
                    else:
                        await self._carry_out(instruction)
                    self._watch(instruction)
            return self._code
        finally:
            await self._close()
            self._lines.put(None)
            await asyncio.to_thread(writer.join, 1.0)

    async def _next(self) -> Event:
        wake_ms = self._front.wake_ms()
        try:
            async with asyncio.timeout(None if wake_ms is None else max(0.0, wake_ms - _now_ms()) / 1000):
                return await self._events.get()
        except TimeoutError:
            return events.Tick()

    async def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case events.SendToGui(text):
                self._lines.put(text)
            case events.Prepare():
                self._preparing = asyncio.create_task(self._prepare(instruction))
            case events.NewGame():
                await self._new_game()
            case api.StartSearch() | api.PonderSearch() | api.RetimeSearch() | api.StopSearch():
                self._order(instruction)
            case events.SolveMate() if self._mates is not None:
                self._mates.solve(instruction)
            case events.StopMate() if self._mates is not None:
                self._mates.stop()
            case events.Quit(code, error):
                self._code, self.error = code, error

    # --- the fleet and the book -----------------------------------------------------------------------------------

    async def _prepare(self, order: events.Prepare) -> None:
        fleet_error = ""
        final = False
        before = self._searcher
        try:
            if order.plan is not None:
                await self._open(order.plan)
        except api.FleetError as error:
            fleet_error, final = str(error), isinstance(error, NetworkError)
        except Exception as error:
            log.exception("fleet_not_opened")
            fleet_error = f"the fleet was not opened: {type(error).__name__}: {error}"
        book_error = await asyncio.to_thread(open_book, self._book, order.book)
        stays = before is not None and before is self._searcher
        self._events.put_nowait(events.Prepared(fleet_error, stays, final, book_error))

    async def _open(self, plan: FleetPlan) -> None:
        searcher = await asyncio.to_thread(self._build, plan)
        before, self._searcher = self._searcher, None
        if before is not None:
            await before.close()
        try:
            await searcher.open(api.Listener(self._heard))
        except BaseException:
            await searcher.close()
            raise
        self._searcher = searcher

    def _heard(self, name: str, fields: dict[str, object]) -> None:
        self._on_event(name, fields)
        self._events.put_nowait(FleetEvent(name, fields))

    async def _new_game(self) -> None:
        if self._searcher is not None:
            try:
                await self._searcher.new_game()
            except api.FleetError:
                log.exception("new_game_not_told")

    def _order(self, order: api.SearchOrder) -> None:
        """Give the fleet an order. Only a search requires an answer."""
        try:
            if self._searcher is not None:
                self._searcher.handle(order, self._hears)
            elif isinstance(order, api.StartSearch):
                raise api.FleetError("the fleet is not open")
        except (api.FleetError, ValueError) as error:
            if isinstance(order, api.StartSearch):
                self._events.put_nowait(events.Failed(order.request.search_id, str(error)))
            else:
                log.exception("order_not_heeded")

    # --- the GUI --------------------------------------------------------------------------------------------------

    def _write_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write until None, or until the reader is gone; runs on a thread of its own."""
        while (line := self._lines.get()) is not None:
            try:
                self._write(line)
            except (OSError, ValueError):
                self._tell(loop, events.GuiGone())
                return

    def _tell(self, loop: asyncio.AbstractEventLoop, event: Event) -> None:
        """Pass an event to the loop, from a thread. A closed loop no longer needs it."""
        try:
            loop.call_soon_threadsafe(self._events.put_nowait, event)
        except RuntimeError:
            if not loop.is_closed():
                raise

    async def _close(self) -> None:
        """End the mate search, the opening or the fleet that is open."""
        if self._mates is not None:
            self._mates.close(wait=False)
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.gather(self._preparing, return_exceptions=True)
        searcher, self._searcher = self._searcher, None
        if searcher is not None:
            await searcher.close()


def _now_ms() -> float:
    return time.monotonic() * 1000
