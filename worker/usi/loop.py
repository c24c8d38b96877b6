"""The single searcher as a USI engine, for any GUI: ``gougi usi --single``.

`UsiLoop` runs `worker.usi.front` with the searches of `worker.usi.single`. Its own thread never waits for a search:
lines, ticks and prepared objects arrive through a queue. Another thread searches and passes its results to the front
directly. A lock ensures that events are handled one after the other.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from worker.book import BookPlayer
from worker.clock import Signs
from worker.engine import EngineError
from worker.search.engine import NumbaEngine
from worker.threads import spare_the_collector
from worker.usi.events import (
    AskBook,
    Event,
    Failed,
    GuiGone,
    GuiLine,
    NewGame,
    Prepare,
    Prepared,
    Quit,
    SendToGui,
    SolveMate,
    StopMate,
    Tick,
)
from worker.usi.front import UsiFront
from worker.usi.gui_reader import GuiReader
from worker.usi.options import Options
from worker.usi.side_tasks import Mates, ask_book, open_book
from worker.usi.single import BeginSearch, EndSearch, Iterated, Searched, Shown, SingleThinking
from worker.usi.words import compiling_line
from worker.warming import Warming, WarmingError

_log = logging.getLogger(__name__)

_EVERY: Final = 1 << 62
"""Larger than any search's number."""


class UsiLoop:
    """One GUI's session with one engine.

    Args:
        write: writes a line to the GUI; called from several threads, but never at the same time. Raises OSError if the
            GUI is gone.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        options = Options()
        self._front = UsiFront(options, SingleThinking(options))
        self._lock = threading.Lock()
        """Held while the front handles an event and its instructions are carried out."""
        self._events: SimpleQueue[object] = SimpleQueue()
        self._jobs: SimpleQueue[NewGame | BeginSearch | threading.Event | None] = SimpleQueue()
        """An event is set after the engine is gone."""
        self._engine: NumbaEngine | None = None
        self._search_lock = threading.Lock()
        self._running: tuple[int, NumbaEngine] | None = None
        """The current or last search and its engine, which may have been replaced since."""
        self._ended = 0
        """All searches up to this number have been told to end."""
        self._clearing = 0
        """The number of `NewGame` that are not done yet."""
        self._asked = 0
        """The number of ``isready`` that arrived in the meantime."""
        self._book = BookPlayer(random.Random())
        self._mates = Mates(self._handle)
        self._warming = Warming()
        self._code: int | None = None
        self.error = ""
        """The reason for an exit code other than 0."""

    def run(self, gui: GuiReader) -> int:
        """Serve until ``quit`` or the end of the GUI's lines; searches still running are then answered. Returns the
        exit code."""
        searcher = threading.Thread(target=self._work, name="search", daemon=True)
        searcher.start()
        gui.forward(self._hear)
        try:
            while self._code is None:
                self._handle(self._next())
            return self._code
        finally:
            self._end(_EVERY)
            self._jobs.put(None)
            searcher.join()
            self._mates.close(wait=True)

    def _hear(self, line: str | None) -> None:
        """Take a line from the GUI, on the reader's thread."""
        if line is not None and line.strip() == "quit":
            self._warming.end()  # nothing else takes too long to wait for
        self._events.put(GuiGone() if line is None else GuiLine(line, _now_ms()))

    def _next(self) -> object:
        wake_ms = self._front.wake_ms()
        try:
            return self._events.get(timeout=None if wake_ms is None else max(0.0, wake_ms - _now_ms()) / 1000)
        except Empty:
            return Tick()

    def _handle(self, event: object) -> None:
        """Pass an event to the front and carry out its instructions; from any thread, but not recursively."""
        with self._lock:
            instructions = deque(self._front.handle(event, _now_ms()))
            while instructions:
                instruction = instructions.popleft()
                if isinstance(instruction, AskBook):
                    instructions += self._front.handle(ask_book(self._book, instruction), _now_ms())
                else:
                    self._carry_out(instruction)

    def _carry_out(self, instruction: object) -> None:
        match instruction:
            case SendToGui(text):
                self._say(text)
            case Prepare(plan, book) if plan is None and self._book.has(book):
                if self._clearing:  # a large table takes seconds, during which a move's clock should not run
                    self._asked += 1
                else:
                    self._events.put(Prepared())
            case Prepare():
                threading.Thread(target=self._prepare, args=(instruction,), name="prepare", daemon=True).start()
            case NewGame() | BeginSearch():
                self._clearing += isinstance(instruction, NewGame)
                self._jobs.put(instruction)
            case EndSearch(search_id):
                self._end(search_id)
            case SolveMate():
                self._mates.solve(instruction)
            case StopMate():
                self._mates.stop()
            case Quit(code, error):
                self._code, self.error = code, error

    def _say(self, line: str) -> None:
        try:
            self._write(line)
        except (OSError, ValueError):
            self._events.put(GuiGone())

    # --- the engine -----------------------------------------------------------------------------------------------

    def _prepare(self, order: Prepare) -> None:
        """Build the engine, and open the book; on its own thread."""
        error = ""
        try:
            if order.plan is not None and not self._build(order.plan):
                self._code = 0
                self._events.put(Tick())
                return
        except EngineError as found:
            error = str(found)
        except Exception as found:
            _log.exception("the engine was not built")
            error = f"the engine was not built: {type(found).__name__}: {found}"
        self._events.put(Prepared(error, final=True, book_error="" if error else open_book(self._book, order.book)))

    def _build(self, plan: tuple[int, int, str | None, int | None, str]) -> bool:
        """Make the engine. Returns False if ``quit`` came first."""

        def show(stage: str, number: int, total: int) -> None:
            with self._lock:
                self._say(compiling_line(stage, number, total))

        try:
            if not self._warming.run(show):
                return False
        except (WarmingError, OSError) as error:
            raise EngineError(f"the searcher is not compiled: {error}") from error
        if self._engine is not None:  # the tables of both may not fit into memory
            is_gone = threading.Event()
            self._jobs.put(is_gone)
            is_gone.wait()
        self._engine = NumbaEngine(*plan)
        spare_the_collector()
        return True

    def _work(self) -> None:
        """Run the searches one after the other, on its own thread."""
        while (job := self._jobs.get()) is not None:
            if isinstance(job, threading.Event):
                with self._search_lock:
                    self._engine = self._running = None
                job.set()
            else:
                self._do(job)  # a local name for the engine here would keep it alive

    def _do(self, job: NewGame | BeginSearch) -> None:
        engine = self._engine
        assert engine is not None
        if isinstance(job, BeginSearch):
            self._handle(self._search(engine, job))
            return
        engine.new_game()
        with self._lock:
            self._clearing -= 1
            while self._asked and not self._clearing:
                self._asked -= 1
                self._events.put(Prepared())

    def _search(self, engine: NumbaEngine, job: BeginSearch) -> Event | Searched:
        number = job.search_id

        def goes_on(signs: Signs) -> bool:
            with self._lock:
                wake_ms = self._front.wake_ms()
                ends = bool(self._front.handle(Iterated(number, signs), _now_ms()))
                if self._front.wake_ms() != wake_ms:
                    self._events.put(Tick())  # the main thread waits for the old time and must check again
                return not ends

        try:
            with self._search_lock:
                engine.rules, engine.root_mate_nodes = job.rules, job.root_mate_nodes
                engine.set_position(job.sfen, job.moves)
                self._running = number, engine
                if number <= self._ended:
                    engine.stop()
            result = engine.go(
                job.limits, lambda info: self._handle(Shown(number, info)), goes_on if job.asks else None
            )
        except EngineError as error:
            return Failed(number, str(error))
        except Exception as error:
            _log.exception("the search failed")
            return Failed(number, f"the search failed: {type(error).__name__}: {error}")
        return Searched(number, result)

    def _end(self, search_id: int) -> None:
        with self._search_lock:
            self._ended = search_id
            if self._running is not None and self._running[0] <= search_id:
                self._running[1].stop()


def _now_ms() -> float:
    return time.monotonic() * 1000
