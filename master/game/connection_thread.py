"""Games on a thread of their own, so that neither a busy searcher nor screen drawing delays the connection.

::

    the connection thread                           the caller's thread (its event loop)
    socket, player, clock, record                   searcher (Ray, channel, coordinator), viewers
        │  orders ────────────────────────────────────►  handled in their order
        │  ◄─────────── progress, decision, pondered ──  the listener
        │  game events ───────────────────────────────►  observers

Nothing on the connection thread waits for the other one. A search that does not begin ends by the clock's hard
deadline, like one without a decision.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog
import uvloop

from cluster.api import SILENT, Decision, OpenSearcher, SearchListener, SearchOrder, StartSearch
from master.game.driver import tell_all
from master.game.loop import Series, play_games
from master.player.events import GameEvent, GameOutcome

log: structlog.stdlib.BoundLogger = structlog.get_logger("game.connection")

LEAVE_S: Final = 15.0
"""Seconds for ending games to receive the server's last line and save the record. After that, a thread blocked by a
dead disk is abandoned."""


async def play_games_on_thread(series: Series) -> list[GameOutcome]:
    """`master.game.loop.play_games` on a thread of its own, with the same outcomes and errors.

    The searcher and the observers of ``series`` are used on the caller's loop, to which its ``stop`` also belongs.
    """
    home = asyncio.get_running_loop()
    thread = _ConnectionThread()

    def observe(event: GameEvent) -> None:
        _call(home, tell_all, series.observers, event)

    async def main(stopped: asyncio.Event) -> list[GameOutcome]:
        observers = [observe] if series.observers else []
        away = _SearcherProxy(series.searcher, home, thread)
        return await play_games(replace(series, searcher=away, observers=observers, stop=stopped))

    stopper = home.create_task(_pass_on(series.stop, thread))
    try:
        return await thread.run(main)
    finally:
        stopper.cancel()


class _SearcherProxy(OpenSearcher):
    """The searcher as seen from the connection thread: an `OpenSearcher` too. The code that opened it closes it."""

    def __init__(self, searcher: OpenSearcher, home: asyncio.AbstractEventLoop, thread: _ConnectionThread) -> None:
        self.name = searcher.name
        self._searcher = searcher
        self._home = home
        self._thread = thread

    async def new_game(self) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._searcher.new_game(), self._home))

    def handle(self, order: SearchOrder, listener: SearchListener = SILENT) -> None:
        _call(self._home, self._handle, order, listener)

    def _handle(self, order: SearchOrder, listener: SearchListener) -> None:
        """Pass an order on, on the caller's loop. A refused search is answered by a decision without a move, so that
        the player falls back."""
        try:
            self._searcher.handle(order, self._brought_over(listener))
        except Exception:
            log.exception("order_failed", order=type(order).__name__)
            if isinstance(order, StartSearch):
                self._thread.call(listener.on_decision, Decision(search_id=order.request.search_id, source="refused"))

    def _brought_over(self, listener: SearchListener) -> SearchListener:
        """The same, called on the connection thread."""
        return SearchListener(
            partial(self._thread.call, listener.on_progress),
            partial(self._thread.call, listener.on_decision),
            partial(self._thread.call, listener.on_pondered),
        )


class _ConnectionThread:
    """The thread with the connection, and its event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._stop: asyncio.Event | None = None
        self._done: concurrent.futures.Future[list[GameOutcome]] = concurrent.futures.Future()

    async def run(self, main: Callable[[asyncio.Event], Coroutine[Any, Any, list[GameOutcome]]]) -> list[GameOutcome]:
        """Run ``main`` to its end. If cancelled, cancel it on its thread, and wait for `LEAVE_S`."""
        begun: concurrent.futures.Future[None] = concurrent.futures.Future()

        async def body() -> list[GameOutcome]:
            self._loop, self._task, self._stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
            begun.set_result(None)
            return await main(self._stop)

        def run_loop() -> None:
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    self._done.set_result(runner.run(body()))
            except BaseException as error:
                if not begun.done():
                    begun.set_result(None)
                self._done.set_exception(error)

        threading.Thread(target=run_loop, name="connection", daemon=True).start()
        begun.result()  # a few milliseconds; from here on there is a loop to cancel
        done = asyncio.wrap_future(self._done)
        cancelled = False
        while not done.done():
            try:
                await asyncio.wait({done}, timeout=LEAVE_S if cancelled else None)
            except asyncio.CancelledError:
                if done.done():
                    break
                cancelled = True
                if self._task is not None:
                    self.call(self._task.cancel)
                continue
            if not done.done():
                log.error("connection_left_behind", waited_s=LEAVE_S)
                raise asyncio.CancelledError
        if cancelled:
            done.exception()
            raise asyncio.CancelledError
        return done.result()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call it on the connection thread, soon; does nothing if that thread has ended."""
        if self._loop is not None:
            _call(self._loop, function, *arguments)

    def stop(self) -> None:
        if self._stop is not None:
            self.call(self._stop.set)


async def _pass_on(stop: asyncio.Event, thread: _ConnectionThread) -> None:
    await stop.wait()
    thread.stop()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, and its observers with it
        loop.call_soon_threadsafe(function, *arguments)
