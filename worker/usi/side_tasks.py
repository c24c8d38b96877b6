"""Book and mate solver of a USI driver, the same for every searcher."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from worker.book import BookError, BookPlayer, BookReply, BookSettings
from worker.mate import MateResult, MateSolver, MateStatus
from worker.shogi import Position
from worker.usi.events import AskBook, BookReplied, MateSolved, SolveMate

_log = logging.getLogger(__name__)


def open_book(book: BookPlayer, settings: BookSettings) -> str:
    """Open the book that the options name. Returns the reason if it cannot be read (then there is no book); else an
    empty text."""
    try:
        book.open(settings)
    except ValueError as error:  # a BookError, or the system has no such name
        return str(error)
    return ""


def ask_book(book: BookPlayer, question: AskBook) -> BookReplied:
    """Look a position up."""
    try:
        return BookReplied(book.reply(question.position, question.settings, question.only))
    except BookError as error:
        return BookReplied(BookReply(None, notes=(f"error: {error}",)))


class Mates:
    """Solves mates, one after the other, on its own thread.

    Args:
        tell: called with each result, from that thread.
        most_mb: the most memory that it may take; None: as requested.
    """

    def __init__(self, tell: Callable[[MateSolved], None], most_mb: int | None = None) -> None:
        self._tell = tell
        self._most_mb = most_mb
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mate")
        self._solver: MateSolver | None = None

    def solve(self, order: SolveMate) -> None:
        """Begin to look for a mate."""
        try:
            self._solver = MateSolver(min(order.memory_mb, self._most_mb or order.memory_mb))
        except MemoryError:
            self._solver = None
        self._thread.submit(self._solve, self._solver, order)

    def stop(self) -> None:
        """End the last search now."""
        if self._solver is not None:
            self._solver.stop()

    def close(self, *, wait: bool) -> None:
        """End all searches; ``wait``: until the last result has been reported."""
        self.stop()
        self._thread.shutdown(wait=wait, cancel_futures=not wait)

    def _solve(self, solver: MateSolver | None, order: SolveMate) -> None:
        result = MateResult(MateStatus.UNKNOWN, (), 0, 0)
        try:
            position = Position.from_sfen(order.sfen)
            position.push_all(order.moves)
            deadline = None if order.limit_ms is None else time.monotonic_ns() + order.limit_ms * 1_000_000
            if solver is not None:
                result = solver.solve(position, deadline_ns=deadline)
        except Exception:
            _log.exception("the mate search failed")
        self._tell(MateSolved(result))  # the GUI waits for an answer in any case
