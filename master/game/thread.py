"""Games on a thread of their own: neither a searcher that is busy nor a screen that is drawn holds up the connection.

::

    the line's thread                               the caller's thread (its event loop)
    socket, player, clock, record                   searcher (Ray, channel, coordinator), viewers
        │  start, ponder, retime, stop ───────────────►  called in their order
        │  known ─────────────────────────────────────►  answered within `KNOWN_S`, or not at all
        │  ◄───────────────────── progress, decision ──  the listener
        │  game events ───────────────────────────────►  observers

Nothing on the line's thread waits for the other one, but for `KNOWN_S` on a turn. A search that does not begin ends by
the clock's hard deadline, as one that brings no decision.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import structlog
import uvloop

from cluster.api import Decision, Known, Listener, OpenSearcher, Progress, SearchRequest
from master.csa.address import ServerAddress
from master.game.driver import GameSettings, Observer
from master.game.loop import play_games
from master.player.events import GameEvent, GameOutcome
from master.player.instructions import Login
from master.player.retry import Backoff

log: structlog.stdlib.BoundLogger = structlog.get_logger("game.apart")

KNOWN_S: Final = 0.05
"""How long the answer may take to what pondering has found out. Without one the move gets its full time."""

LEAVE_S: Final = 15.0
"""How long games that are to end may take for that: the server's last word, the record. A thread that a dead disk holds
is left behind then."""


async def play_games_apart(
    address: ServerAddress,
    login: Login,
    searcher: OpenSearcher,
    listener: Listener,
    settings: GameSettings | None = None,
    observers: Sequence[Observer] = (),
    *,
    count: int | None = None,
    stop: asyncio.Event | None = None,
    backoff: Backoff | None = None,
) -> list[GameOutcome]:
    """`master.game.loop.play_games` on a thread of its own, with the same arguments, outcomes and errors.

    ``searcher``, ``listener`` and ``observers`` are used on the caller's loop, as ever.
    """
    home = asyncio.get_running_loop()
    line = _Line()
    away = _Away(searcher, home, line)
    before = (listener.on_progress, listener.on_decision)

    def on_progress(progress: Progress) -> None:
        line.call(away.listener_progress, progress)

    def on_decision(decision: Decision) -> None:
        line.call(away.listener_decision, decision)

    def observe(event: GameEvent) -> None:
        _call(home, _tell, observers, event)

    async def main(stopped: asyncio.Event) -> list[GameOutcome]:
        away_observers = [observe] if observers else []
        return await play_games(
            address,
            login,
            away,
            away.listener,
            settings,
            away_observers,
            count=count,
            stop=stopped,
            backoff=backoff,
        )

    listener.on_progress, listener.on_decision = on_progress, on_decision
    stopper = None if stop is None else home.create_task(_pass_on(stop, line))
    try:
        return await line.run(main)
    finally:
        listener.on_progress, listener.on_decision = before
        if stopper is not None:
            stopper.cancel()


class _Away:
    """The searcher's face on the line's thread: an `OpenSearcher` too. Who opened it closes it."""

    def __init__(self, searcher: OpenSearcher, home: asyncio.AbstractEventLoop, line: _Line) -> None:
        self.name = searcher.name
        self.listener = Listener()
        """That of the games; its calls are made on the line's thread."""
        self._searcher = searcher
        self._home = home
        self._line = line

    def listener_progress(self, progress: Progress) -> None:
        self.listener.on_progress(progress)

    def listener_decision(self, decision: Decision) -> None:
        self.listener.on_decision(decision)

    async def new_game(self) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._searcher.new_game(), self._home))

    def start(self, request: SearchRequest) -> None:
        _call(self._home, self._start, request)

    def _start(self, request: SearchRequest) -> None:
        """At home. A search that is refused is answered by a decision without a move: the player then falls back."""
        try:
            self._searcher.start(request)
        except Exception:
            log.exception("search_not_started", search_id=request.search_id)
            self._line.call(self.listener_decision, Decision(request.search_id, "", None, 0, (), 0, 0, "refused"))

    def ponder(self, request: SearchRequest, expected: str = "") -> None:
        self._order(self._searcher.ponder, request, expected)

    def retime(self, search_id: int, soft_ms: int) -> None:
        self._order(self._searcher.retime, search_id, soft_ms)

    def stop(self, search_id: int) -> None:
        self._order(self._searcher.stop, search_id)

    def known(self, request: SearchRequest) -> Known | None:
        answer: concurrent.futures.Future[Known | None] = concurrent.futures.Future()

        def ask() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(self._searcher.known(request))
                except Exception as error:
                    answer.set_exception(error)

        _call(self._home, ask)
        try:
            return answer.result(KNOWN_S)
        except TimeoutError:
            answer.cancel()
            return None

    def _order(self, call: Callable[..., None], *arguments: object) -> None:
        _call(self._home, _guarded, call, *arguments)


class _Line:
    """The thread with the connection, and its event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._stop: asyncio.Event | None = None
        self._done: concurrent.futures.Future[list[GameOutcome]] = concurrent.futures.Future()

    async def run(self, main: Callable[[asyncio.Event], Coroutine[Any, Any, list[GameOutcome]]]) -> list[GameOutcome]:
        """Run ``main`` to its end. Cancelled, it is cancelled there, and waited for `LEAVE_S`."""
        begun: concurrent.futures.Future[None] = concurrent.futures.Future()

        async def body() -> list[GameOutcome]:
            self._loop, self._task, self._stop = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()
            begun.set_result(None)
            return await main(self._stop)

        def thread() -> None:
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    self._done.set_result(runner.run(body()))
            except BaseException as error:
                if not begun.done():
                    begun.set_result(None)
                self._done.set_exception(error)

        threading.Thread(target=thread, name="line", daemon=True).start()
        begun.result()  # some milliseconds; from here on there is a loop to cancel
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
                log.error("line_left_behind", waited_s=LEAVE_S)
                raise asyncio.CancelledError
        if cancelled:
            done.exception()
            raise asyncio.CancelledError
        return done.result()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call it on the line's thread, soon; nothing where that is over."""
        if self._loop is not None:
            _call(self._loop, function, *arguments)

    def stop(self) -> None:
        if self._stop is not None:
            self.call(self._stop.set)


async def _pass_on(stop: asyncio.Event, line: _Line) -> None:
    await stop.wait()
    line.stop()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: whoever would hear of it is gone
        loop.call_soon_threadsafe(function, *arguments)


def _guarded(call: Callable[..., None], *arguments: object) -> None:
    try:
        call(*arguments)
    except Exception:
        log.exception("order_failed", order=getattr(call, "__name__", str(call)))


def _tell(observers: Sequence[Observer], event: GameEvent) -> None:
    for observer in observers:
        try:
            observer(event)
        except Exception:
            log.exception("observer_failed")
