"""The books of a running player: one thread reads and writes them, so that a slow disk blocks nothing else.

Usage::

    service = BookService(OpeningSettings(files=(Path("book.db"),)), learn=Path("learned.sqlite"))
    service.open()
    settings = GameSettings(player=…, book=service)       # used by `master.game.driver` in the game
    …
    await service.close()

The thread answers one question after another. Nothing waits for one that hangs (a network disk): the player begins its
search, and closing waits at most `CLOSE_S`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from cluster.api import Decision
from master.book.learned import FinishedGame, LearnedBook
from master.book.lessons import (
    UNKNOWN,
    BookSearch,
    GameNotes,
    Lesson,
    StudySettings,
    earlier_lesson,
    judged,
    plan_lessons,
)
from master.book.opening import OpeningBook, OpeningSettings
from master.player.events import Conclusion, GameBegan, GameEnded, GameEvent, GameOutcome
from master.player.instructions import AskBook, BookAnswer
from worker.book import BookError
from worker.shogi import Position

_SHARE: Final = 0.2
"""Weight of a new measurement in the mean."""
_LEAST_MS: Final = 200
"""A search shorter than this measures the start of a search, not its speed."""


class Speed:
    """A moving mean of nodes per second, of all nodes together."""

    def __init__(self, nps: float | None = None) -> None:
        self.nps = nps
        """None if nothing is known yet."""

    def searched(self, nodes: int, elapsed_ms: int) -> bool:
        """Include a search. Returns whether the mean has changed."""
        if elapsed_ms < _LEAST_MS or nodes <= 0:
            return False
        nps = nodes * 1000 / elapsed_ms
        self.nps = nps if self.nps is None else self.nps + _SHARE * (nps - self.nps)
        return True


T = TypeVar("T")

log: structlog.stdlib.BoundLogger = structlog.get_logger("book")

CLOSE_S: Final = 2.0
"""Seconds to wait for a hanging thread at the end."""


class BookService:
    """Answers, remembers and plans; every method except `open` returns at once or is awaited. ``learn``: the learned
    book's file; None: nothing is learned."""

    def __init__(
        self,
        settings: OpeningSettings | None = None,
        learn: Path | None = None,
        study: StudySettings | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._settings = settings or OpeningSettings()
        self._learn = learn
        self._study = study or StudySettings()
        self._rng = rng
        self._thread = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="book")
        self._last: concurrent.futures.Future[Any] | None = None
        self._undone: deque[str] = deque()
        """Tasks that the thread has not done yet, in order: a description of the pending write, or empty for reads."""
        self._opening: OpeningBook | None = None
        self._learned: LearnedBook | None = None
        self._speed = Speed()
        self._notes: GameNotes | None = None

    @property
    def learns(self) -> bool:
        """Whether there is a book that learns."""
        return self._learn is not None

    @property
    def nps(self) -> float | None:
        """The fleet's speed in nodes per second; None if it was never measured."""
        return self._speed.nps

    @property
    def knows(self) -> bool:
        """Whether there is anything to consult: a file, or a book that learns."""
        return self.learns or bool(self._settings.files)

    def open(self) -> None:
        """Open all books. Call it before a clock runs, because it reads whole files. Raises BookError: a file cannot be
        opened; nothing is open then."""
        if self._learn is not None:
            self._learned = LearnedBook(self._learn)
            self._speed = Speed(self._learned.nps())
        try:
            self._opening = OpeningBook(self._settings, self._learned, self._rng)
        except BaseException:
            if self._learned is not None:
                self._learned.close()
            raise

    async def close(self) -> None:
        """Write pending data, and close the books. Data not written within `CLOSE_S` is reported and abandoned."""
        if self._learned is not None:
            self._submit(self._learned.close)
        if self._last is not None:
            _, late = await asyncio.wait({asyncio.wrap_future(self._last)}, timeout=CLOSE_S)
            if late:
                why, lost = f"the disk did not answer for {CLOSE_S:.0f} s", list(filter(None, self._undone))
                log.error("book_not_written", book=str(self._learn), error=why, lost=lost)
        self._thread.shutdown(wait=False)

    # A game's driver

    def ask(self, question: AskBook, reply: Callable[[BookAnswer | None], None]) -> None:
        """Look a position up. ``reply`` is called on the running loop; None: the book has no move."""
        loop = asyncio.get_running_loop()

        def tell(done: concurrent.futures.Future[BookAnswer | None]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(reply, done.result())

        self._submit(lambda: self._reply(question)).add_done_callback(tell)

    def observe(self, event: GameEvent) -> None:
        """Follow a game: `master.game.driver.Observer`."""
        if isinstance(event, Decision):
            self.searched(event)
        if not self.learns:
            return
        if isinstance(event, GameBegan):
            self._notes = GameNotes()
        if self._notes is None:
            return
        own = self._notes.take(event)
        if own is not None and own.search is not None and self._learned is not None:
            self._submit(partial(self._learned.keep, own.sfen, own.search), "a move")
        if isinstance(event, GameEnded):
            notes, self._notes = self._notes, None
            self._submit(lambda: self._add_game(notes, event.outcome), "a game")

    def searched(self, decision: Decision) -> None:
        """A search of the fleet is over: measure its speed. While pondering, a part of the fleet had other replies, so
        a hit does not count."""
        measured = not decision.pondered_ms and self._speed.searched(decision.nodes, decision.elapsed_ms)
        if measured and self._learned is not None and self.nps is not None:
            self._submit(partial(self._learned.set_nps, self.nps), "the speed")

    # Study between the games

    async def next_lesson(self) -> Lesson | None:
        """The next lesson; None if there is none, or if the book cannot be read (which is logged)."""
        learned = self._learned
        return None if learned is None else await asyncio.wrap_future(self._submit(learned.next_lesson))

    async def learned(self, lesson: Lesson, piece: BookSearch | None, finished: bool) -> int:
        """Store the result of another search of a lesson; returns the number of lessons that are left.

        An unfinished lesson stays in the queue, with its pieces.
        """
        left = self._submit(lambda: self._learned_something(lesson, piece, finished), "a lesson")
        return await asyncio.wrap_future(left) or 0

    # On the book's thread

    def _reply(self, question: AskBook) -> BookAnswer | None:
        return None if self._opening is None else self._opening.reply(question, self.nps)

    def _add_game(self, notes: GameNotes, outcome: GameOutcome) -> None:
        if self._learned is None:
            return
        lessons: list[Lesson] = []
        if outcome.conclusion in (Conclusion.LOSE, Conclusion.DISCONNECTED):
            found = {own.sfen: self._learned.search_of(own.sfen) for own in notes.own}
            seconds = {sfen: search.seconds for sfen, search in found.items() if search is not None}
            reason = outcome.reason if outcome.conclusion is Conclusion.LOSE else UNKNOWN
            lessons = plan_lessons(notes.start_sfen, notes.own, reason, seconds, self._study)
        game = FinishedGame(
            notes.name, notes.opponent, notes.colour, outcome.conclusion.value, outcome.reason, tuple(notes.own)
        )
        self._learned.add_game(game, lessons)
        log.info("game_remembered", result=game.result, own_moves=len(game.own), lessons=len(lessons))

    def _learned_something(self, lesson: Lesson, piece: BookSearch | None, finished: bool) -> int:
        if self._learned is None:
            return 0
        if finished:
            search = judged(lesson.with_piece(piece).pieces)
            following = None if search is None else self._following(self._learned, lesson, search)
            self._learned.finish_lesson(lesson, search, following)
        elif piece is not None:
            self._learned.add_piece(lesson, piece)
        return self._learned.lessons_left()

    def _following(self, learned: LearnedBook, lesson: Lesson, search: BookSearch) -> Lesson | None:
        if len(lesson.moves) < 2:
            return None
        position = Position.from_sfen(lesson.start_sfen)
        position.push_all(lesson.moves[:-2])
        sfen = position.sfen()
        return earlier_lesson(lesson, search, sfen, learned.search_of(sfen), self._study)

    def _submit(self, work: Callable[[], T | None], writes: str = "") -> concurrent.futures.Future[T | None]:
        """Have the thread do it. A book that fails counts as no book; the game goes on."""

        def run() -> T | None:
            try:
                return work()
            except BookError as error:
                log.error("book_failed", error=str(error))
            except Exception:
                log.exception("book_failed")
            finally:
                self._undone.popleft()
            return None

        self._undone.append(writes)
        self._last = future = self._thread.submit(run)
        return future
