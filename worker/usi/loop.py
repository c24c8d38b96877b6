"""The single searcher as a USI engine, for any GUI: ``gougi usi --single``.

The loop's thread never searches: it answers ``stop`` at once while one thread runs `NumbaEngine.go`. Before it stands
`worker.usi.door`, which reads the lines and answers ``usi`` while all of this is still being loaded.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from worker.book import BookError, BookPlayer, BookReply
from worker.careful import careful_move
from worker.clock import Signs, Watch
from worker.clock.gui_clock import GuiClock
from worker.clock.turn import CLOCK_WORDS, Turn
from worker.engine import Bound, EngineError, Limits, SearchInfo, SearchResult
from worker.mate import MateSolver
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS, Position, move_to_usi
from worker.text import Catalogue
from worker.usi.options import Options
from worker.usi.words import (
    GoOrder,
    best_line,
    book_lines,
    info_line,
    mate_lines,
    parse_go,
    parse_mate_limit,
    parse_position,
    parse_setoption,
)
from worker.warming import Warming, WarmingError

_log = logging.getLogger(__name__)
_WORDS = Catalogue("worker")


class NoEngineError(Exception):
    """The options give no engine. Whoever waits for ``readyok`` would wait for ever, or play another engine than the
    one that was asked for: the loop ends."""


class _QuitError(Exception):
    """``quit`` came while the engine was being made."""


class UsiLoop:
    """The USI protocol around one engine.

    Args:
        write: sends one line; called from two threads, never at once.
        rng: chooses among the moves of a book; None: one that differs from run to run.
    """

    def __init__(self, write: Callable[[str], None], rng: random.Random | None = None) -> None:
        self._send = write
        self._options = Options()
        self._engine: NumbaEngine | None = None
        self._built_from: tuple[object, ...] = ()
        self._solver: MateSolver | None = None
        self._book = BookPlayer(rng or random.Random())
        self._write_lock = threading.Lock()
        self._search: threading.Thread | None = None
        self._position: tuple[str, tuple[str, ...]] | None = (STARTPOS, ())
        """None: the last ``position`` was wrong, and any move of the one before would be too."""
        self._warming = Warming()
        # While the opponent thinks, and in an infinite search, no bestmove may go out: it waits here for its leave.
        self._may_answer = threading.Event()
        self._timer: threading.Timer | None = None
        self._after_hit: GoOrder | None = None
        """The search that a pondering search turns into at ``ponderhit``."""
        self._discard = False
        """The running search is not to be answered."""
        self._clock = GuiClock()
        self._began = 0.0
        """When the running search was asked for, by ``time.monotonic``."""
        self._watch = Watch()
        self._turn: Turn | None = None
        """The time of the running search; None: its clock does not run, or it has none."""

    def run(self, lines: Iterable[str]) -> None:
        """Serve until ``quit`` or the end of the input.

        Raises:
            NoEngineError: none can be built; the GUI has been told why.
        """
        try:
            for line in lines:
                words = line.split()
                if not words:
                    continue
                if words[0] == "quit":
                    break
                try:
                    self._command(words)
                except (EngineError, ValueError) as error:
                    self._complain(str(error))
        except NoEngineError as error:
            self._complain(str(error))
            raise
        except _QuitError:
            pass
        finally:
            self._end_search()

    def quit_came(self) -> None:
        """``quit`` was read, by another thread, and waits behind what is being done: compiling ends for it."""
        self._warming.end()

    def _complain(self, why: str) -> None:
        words = _WORDS.error(" ".join(why.split()))
        self._write(f"info string {_WORDS.text('error: {why}', why=words)}")

    def _write(self, line: str) -> None:
        with self._write_lock:
            self._send(line)

    def _command(self, words: list[str]) -> None:
        match words[0]:
            case "isready":
                self._ready()
                self._open_book()
                self._write("readyok")
            case "setoption":
                self._options.set(*parse_setoption(words[1:]))
            case "usinewgame":
                self._end_search()
                self._ready().new_game()
            case "position":
                self._end_search()
                self._set_position(words[1:])
            case "go":
                self._go(words[1:])
            case "stop":
                self._release()
                self._stop_threads()
            case "ponderhit":
                self._ponder_hit()
            case "gameover":
                self._end_search()
            case other:
                raise ValueError(f"unknown command {other!r}")

    def _ready(self) -> NumbaEngine:
        """The engine for the options as they are now, built where they changed."""
        wanted = self._options.engine
        if self._engine is None or wanted != self._built_from:
            self._end_search()
            self._compile()
            hash_mb, threads, eval_file, fv_scale = wanted
            try:
                self._engine = NumbaEngine(hash_mb, threads, eval_file, fv_scale)
            except EngineError as error:
                raise NoEngineError(str(error)) from error
            if self._position is not None:
                self._engine.set_position(*self._position)
            self._built_from = wanted
        return self._engine

    def _compile(self) -> None:
        def show(stage: str, number: int, total: int) -> None:
            words = _WORDS.text("compiling {number}/{total} {stage}", number=number, total=total, stage=stage)
            self._write(f"info string {words}")

        try:
            if not self._warming.run(show):
                raise _QuitError
        except (WarmingError, OSError) as error:
            raise NoEngineError(f"the searcher is not compiled: {error}") from error

    def _open_book(self) -> None:
        """Open the book that the options name; without one that can be read the engine plays on its own."""
        try:
            self._book.open(self._options.book)
        except BookError as error:
            self._complain(f"{error}; playing without a book")

    def _board(self) -> Position:
        """The position that the GUI has set, which there is."""
        assert self._position is not None
        sfen, moves = self._position
        position = Position.from_sfen(sfen)
        position.push_all(moves)
        return position

    def _ask_book(self, order: GoOrder) -> BookReply:
        """Look the position up in the book."""
        if not self._book.is_open:
            return BookReply(None)
        position = self._board()
        try:
            return self._book.reply(position, self._options.book, order.searchmoves)
        except BookError as error:
            return BookReply(None, notes=(f"error: {error}",))

    def _say(self, reply: BookReply) -> bool:
        """Say what the book said. Whether that was a move."""
        for line in book_lines(reply):
            self._write(line)
        return reply.move is not None

    def _set_position(self, words: list[str]) -> None:
        self._position = None
        sfen, moves = parse_position(words)
        self._ready().set_position(sfen, moves)
        self._position = (sfen, moves)

    def _go(self, words: list[str]) -> None:
        began = time.monotonic()
        engine = self._ready()
        self._end_search()
        if self._position is None:
            self._complain("go: the last position was wrong")
            self._write("checkmate timeout" if words[:1] == ["mate"] else best_line("resign"))
            return
        if words[:1] == ["mate"]:
            self._go_mate(words[1:])
            return
        order = parse_go(words)
        for fault in order.faults:
            self._complain(f"go: {fault}")
        if not (order.ponder or order.infinite) and self._say(self._ask_book(order)):
            return
        engine.rules = self._options.rules
        engine.root_mate_nodes = self._options.number("RootMateSearchNodesLimit")
        self._after_hit = order if order.ponder else None
        if order.ponder or order.infinite:
            self._may_answer.clear()
        else:
            self._may_answer.set()
        sfen, moves = self._position
        if self._guesses_reply:
            # The opponent's reply is left open: the table fills for whatever it will be.
            moves = moves[:-1]
        engine.set_position(sfen, moves)
        self._begin(engine, order, began)

    def _go_mate(self, words: list[str]) -> None:
        """``go mate TIME|infinite``: answered by ``checkmate`` with the line, ``nomate`` or ``timeout``."""
        try:
            limit_ms = parse_mate_limit(words)
        except ValueError:
            self._write("checkmate timeout")
            raise
        position = self._board()
        deadline = None if limit_ms is None else time.monotonic_ns() + limit_ms * 1_000_000
        self._solver = MateSolver(self._options.number("USI_Hash"))
        self._search = threading.Thread(target=self._solve, args=(self._solver, position, deadline), name="mate")
        self._search.start()

    def _solve(self, solver: MateSolver, position: Position, deadline: int | None) -> None:
        result = solver.solve(position, deadline_ns=deadline)
        for line in mate_lines(result):
            self._write(line)

    @property
    def _guesses_reply(self) -> bool:
        """Whether the running search ponders without the expected reply (``Stochastic_Ponder``)."""
        moves = self._position[1] if self._position is not None else ()
        return self._after_hit is not None and self._options.flag("Stochastic_Ponder") and bool(moves)

    def _begin(self, engine: NumbaEngine, order: GoOrder, began: float) -> None:
        """Start the search of ``order`` on its thread. While pondering the clock does not run yet.

        Args:
            began: when the order came, by ``time.monotonic``. To set up a long game takes ms, which are the search's.
        """
        options = self._options
        bounded = not order.infinite
        self._began = began
        self._watch = Watch(None if self._position is None else self._clock.promised(*self._position))
        self._turn = None if order.ponder or order.infinite else self._turn_of(order, began, 0.0)
        limits = Limits(
            movetime_ms=None if self._turn is None else self._turn.hard_ms,
            nodes=(order.numbers.get("nodes") or options.number("NodesLimit") or None) if bounded else None,
            depth=(order.numbers.get("depth") or options.number("DepthLimit") or None) if bounded else None,
            multipv=options.number("MultiPV"),
            searchmoves=order.searchmoves,
        )
        self._discard = False
        timed = bounded and "movetime" not in order.numbers and bool(order.numbers.keys() & CLOCK_WORDS)
        self._search = threading.Thread(target=self._think, args=(engine, limits, timed), name="search")
        self._search.start()

    def _turn_of(self, order: GoOrder, began: float, known_ms: float) -> Turn | None:
        """The time of the move that ``order`` asks for.

        Args:
            began: when it came, by ``time.monotonic``.
            known_ms: so long was it pondered on.
        """
        board = self._board()
        assert self._position is not None
        return self._clock.turn(
            order.numbers,
            *self._position,
            self._options.habits,
            colour=board.turn,
            ply=board.move_number - 1,
            began_ms=began * 1000,
            now_ms=time.monotonic() * 1000,
            watch=self._watch,
            known_ms=known_ms,
        )

    def _goes_on(self, signs: Signs) -> bool:
        """Whether the search is to begin another iteration. While pondering it always is."""
        if self._turn is None:
            self._watch.see(signs)
            return True
        return self._turn.goes_on(signs, time.monotonic() * 1000)

    def _think(self, engine: NumbaEngine, limits: Limits, timed: bool) -> None:
        shown: list[SearchInfo] = []
        interval = self._options.number("PvInterval")
        showing = False

        def show(info: SearchInfo) -> None:
            nonlocal showing
            if info.multipv == 1:
                showing = not shown or info.time_ms - shown[0].time_ms >= interval
                if showing:
                    shown.clear()
            if showing:
                shown.append(info)
                self._write(info_line(info))

        try:
            result = engine.go(limits, show, self._goes_on if timed else None)
        except EngineError as error:
            self._complain(str(error))
            result = self._unsearched()
        except Exception as error:
            _log.exception("the search failed")
            self._complain(f"the search failed: {type(error).__name__}: {error}")
            result = self._unsearched()
        self._may_answer.wait()
        if self._timer is not None:
            self._timer.cancel()
        if self._discard:
            return
        self._keep(result)
        for info in result.lines:
            if info not in shown:
                self._write(info_line(info))
        if result.lines and result.lines[0].score <= -self._options.number("ResignValue"):
            result = SearchResult("resign", None, result.nodes, result.time_ms)
        self._write(best_line(result.bestmove, result.ponder))

    def _keep(self, result: SearchResult) -> None:
        """Remember what the next move's time depends on: this one's score, and when it went out."""
        if self._turn is None or self._position is None:
            return
        exact = result.lines and result.lines[0].bound is Bound.EXACT
        score = result.lines[0].score if exact else None
        self._clock.answered(self._turn, *self._position, score, time.monotonic() * 1000, aimed=False)

    def _unsearched(self) -> SearchResult:
        """A move by material alone: whoever waits for one gets it."""
        board = self._board()
        return SearchResult("resign" if board.is_mated() else move_to_usi(careful_move(board)), None, 0, 0)

    def _ponder_hit(self) -> None:
        """The opponent played the expected move: the own time begins, and the search goes on."""
        began = time.monotonic()
        engine, order = self._engine, self._after_hit
        if engine is None or order is None:
            return
        begun = replace(order, ponder=False)
        reply = BookReply(None) if order.infinite else self._ask_book(begun)
        guessed = self._guesses_reply
        if guessed or reply.move is not None:
            self._discard = True
            self._end_search()
        if self._say(reply):
            return
        if guessed and self._position is not None:
            engine.set_position(*self._position)
            self._begin(engine, begun, began)
            return
        if not order.infinite:
            self._turn = self._turn_of(begun, began, (began - self._began) * 1000)
        if self._turn is not None:
            self._timer = threading.Timer(self._turn.soft_ms / 1000, engine.stop)
            self._timer.start()
        if order.infinite:
            self._after_hit = None
        else:
            self._release()

    def _release(self) -> None:
        self._after_hit = None
        self._may_answer.set()

    def _stop_threads(self) -> None:
        if self._engine is not None:
            self._engine.stop()
        if self._solver is not None:
            self._solver.stop()

    def _end_search(self) -> None:
        """End a running search (its bestmove goes out) and wait for it."""
        self._release()
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # or its stop could end the next search
            self._timer = None
        if self._search is not None:
            self._stop_threads()
            self._search.join()
            self._search = None
