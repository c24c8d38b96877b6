"""Method II at work: the player's own searcher searches lessons while no game needs it.

`StudyingSearcher` sits between a game and its searcher. A game's first call (`new_game`, `StartSearch`, `PonderSearch`)
ends the study at once. An interrupted lesson stays in the queue, with the results of its searches, and continues in the
next gap.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from cluster import api
from master.book.lessons import REFERENCE_NPS, BookSearch, Lesson, book_search_of
from master.book.service import BookService
from master.player.events import GameEnded, GameEvent, GameFound, LoggedIn
from worker.score import MATE_BOUND

log: structlog.stdlib.BoundLogger = structlog.get_logger("book.study")

STOP_S: Final = 1.0
"""Seconds to wait before a game for the decision of a stopped search."""
_SLACK_MS: Final = 1000
"""Milliseconds from the time of a lesson to its hard deadline."""
_ENOUGH: Final = 0.8
"""Share of a lesson's time that is enough."""
_ATTEMPTS: Final = 3
"""Maximum number of searches of a lesson in one gap, each planned with the speed of the previous one."""


@dataclass(frozen=True, slots=True)
class Studied:
    """A searched lesson, for viewers."""

    lesson: Lesson
    decision: api.Decision
    finished: bool
    left: int
    """Lessons in the queue now."""


class StudyingSearcher(api.Searcher):
    """A `cluster.api.Searcher` that studies between games.

    Args:
        searcher: the underlying searcher, for games and lessons.
        service: provides the lessons, and stores their results.
        next_id: gives rising search ids, shared with the games (`master.game.driver.next_search_id`).
        by_nodes: lessons end by nodes searched, not by time: for one node, and repeatable.
        between_games: whether `observe` starts the study.
    """

    def __init__(
        self,
        searcher: api.Searcher,
        service: BookService,
        next_id: Callable[[], int],
        by_nodes: bool = False,
        between_games: bool = True,
    ) -> None:
        self.name = searcher.name
        self.on_studied: Callable[[Studied], None] = lambda _: None
        """Callback for each searched lesson, on the event loop."""
        self.on_progress: Callable[[Lesson, api.Progress], None] = lambda _lesson, _progress: None
        """Callback for the progress of a lesson's search."""
        self._searcher = searcher
        self._service = service
        self._next_id = next_id
        self._by_nodes = by_nodes
        self._between_games = between_games and service.learns
        self._hears = api.SearchListener(self._on_progress, self._on_decision)
        self._study: asyncio.Task[int] | None = None
        self._lesson: Lesson | None = None
        self._search_id: int | None = None
        self._decision: asyncio.Future[api.Decision] | None = None
        self._stopping = False
        self._again = False
        """A gap between games began before the previous study had ended."""

    # Study

    def observe(self, event: GameEvent) -> None:
        """Start the study when the player waits for a game, stop when one is found: `master.game.driver.Observer`."""
        if isinstance(event, (LoggedIn, GameEnded)):
            if self._between_games:
                self.begin()
        elif isinstance(event, GameFound):
            self.interrupt()

    def begin(self) -> None:
        """Study in the background until nothing is left, or a game begins."""
        if self._study is None or self._study.done():
            self._again = self._stopping = False
            self._study = asyncio.get_running_loop().create_task(self._guarded_study())
        elif self._stopping:
            self._again = True

    def interrupt(self) -> None:
        """Stop studying: the running search is stopped at once."""
        self._stopping, self._again = True, False
        if self._search_id is not None:
            self._searcher.stop(self._search_id)

    async def study(self) -> int:
        """Search lesson after lesson until none is left, or `interrupt`. Returns the number of finished lessons.

        If cancelled, it stops the search, waits a moment for its result, and stores that.
        """
        self._stopping = False
        return await self._run()

    async def _run(self) -> int:
        finished = 0
        before: Lesson | None = None
        while not self._stopping:
            lesson = await self._service.next_lesson()
            if lesson is None or lesson == before or self._stopping:
                break  # the same lesson again: it could not be removed from the queue
            before = lesson
            finished += await self._study_one(lesson)
        return finished

    async def _guarded_study(self) -> int:
        finished = 0
        try:
            while True:
                finished += await self._run()
                if not self._again:
                    return finished
                self._again = self._stopping = False
        except Exception:
            log.exception("study_failed")
            return finished

    async def _study_one(self, lesson: Lesson) -> bool:
        """Search one lesson, after the pieces already done. Returns whether it was finished."""
        left = round(lesson.left_seconds, 3)
        log.info("lesson_begun", ply=lesson.ply, seconds=round(lesson.seconds, 3), left=left, sfen=lesson.sfen)
        nps = self._service.nps or REFERENCE_NPS
        for attempt in range(1, _ATTEMPTS + 1):
            if self._stopping:  # stopped while the last piece was written: a game uses the searcher now
                break
            decision = await self._search(lesson, nps)
            if decision is None:
                break
            if not (decision.is_of_nodes or decision.source == "forced"):
                if not self._stopping:
                    log.warning("lesson_not_searched", ply=lesson.ply, source=decision.source)
                return False  # it stays, and study pauses until the next gap: there are no nodes
            over = self._by_nodes or attempt == _ATTEMPTS or _is_enough(decision, lesson)
            if over or self._stopping:
                return await self._keep(lesson, decision, finished=over and not self._stopping)
            # The fleet was slower than expected.
            nps = decision.nodes * 1000 / max(1, decision.elapsed_ms)
            piece = _piece_of(decision)
            await self._service.learned(lesson, piece, finished=False)
            lesson = lesson.with_piece(piece)
        return False

    async def _search(self, lesson: Lesson, nps: float) -> api.Decision | None:
        """The decision on a lesson; None if a game took the searcher away."""
        self._lesson, self._search_id = lesson, self._next_id()
        self._decision = asyncio.get_running_loop().create_future()
        try:
            self._searcher.start(self._request(lesson, self._search_id, nps), self._hears)
            try:
                return await asyncio.shield(self._decision)
            except asyncio.CancelledError:
                if self._decision.cancelled():
                    return None
                self.interrupt()
                done, _ = await asyncio.wait({self._decision}, timeout=STOP_S)
                if done and not self._decision.cancelled():
                    await self._keep(lesson, self._decision.result(), finished=False)
                raise
        finally:
            self._lesson = self._search_id = self._decision = None

    async def _keep(self, lesson: Lesson, decision: api.Decision, finished: bool) -> bool:
        self._service.searched(decision)
        piece = _piece_of(decision)
        left = await self._service.learned(lesson, piece, finished)
        left_s = round(lesson.with_piece(piece).left_seconds, 3)
        found = {"move": decision.move, "score": decision.score, "depth": decision.depth, "nodes": decision.nodes}
        log.info("lesson_over", ply=lesson.ply, finished=finished, left=left_s, **found)
        self.on_studied(Studied(lesson, decision, finished, left))
        return finished

    def _request(self, lesson: Lesson, search_id: int, nps: float) -> api.SearchRequest:
        nodes = max(1, round(lesson.left_seconds * REFERENCE_NPS))
        if self._by_nodes:
            return api.SearchRequest(search_id, lesson.start_sfen, lesson.moves, nodes=nodes)
        time_ms = max(1, round(nodes * 1000 / max(1.0, nps)))
        return api.SearchRequest(
            search_id, lesson.start_sfen, lesson.moves, soft_ms=time_ms, hard_ms=time_ms + _SLACK_MS
        )

    def _abandon(self) -> None:
        """Abandon the lesson: a game needs the searcher now, and the result of the current search is lost."""
        self._stopping, self._again = True, False
        if self._decision is not None:
            self._decision.cancel()

    # The searcher, for a game

    async def open(self, listener: api.Listener) -> None:
        await self._searcher.open(listener)

    async def new_game(self) -> None:
        """See `cluster.api.Searcher.new_game`. Ends the study first."""
        self.interrupt()
        if self._study is not None and not self._study.done():
            await asyncio.wait({self._study}, timeout=STOP_S)
        await self._searcher.new_game()

    def handle(self, order: api.SearchOrder, listener: api.SearchListener = api.SILENT) -> None:
        """See `cluster.api.OpenSearcher.handle`."""
        if isinstance(order, api.StartSearch | api.PonderSearch):
            self._abandon()
        self._searcher.handle(order, listener)

    async def close(self) -> None:
        """See `cluster.api.Searcher.close`. The result of a running lesson is stored."""
        self.interrupt()
        if self._study is not None and not self._study.done():
            done, _ = await asyncio.wait({self._study}, timeout=STOP_S)
            if not done:
                self._study.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._study
        await self._searcher.close()

    def _on_progress(self, progress: api.Progress) -> None:
        if progress.search_id == self._search_id and self._lesson is not None:
            self.on_progress(self._lesson, progress)

    def _on_decision(self, decision: api.Decision) -> None:
        if decision.search_id == self._search_id and self._decision is not None and not self._decision.done():
            self._decision.set_result(decision)


def _piece_of(decision: api.Decision) -> BookSearch | None:
    search = book_search_of(decision)
    return None if search is None else replace(search, studied=True)


def _is_enough(decision: api.Decision, lesson: Lesson) -> bool:
    """Whether a lesson, including this search, has had its time, or more time is useless: a mate, only one move."""
    if not decision.nodes or decision.score is None or abs(decision.score) >= MATE_BOUND:
        return True
    return lesson.with_piece(_piece_of(decision)).left_seconds <= (1 - _ENOUGH) * lesson.seconds
