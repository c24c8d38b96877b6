"""Study between games: lessons in order, stopped at once, kept at the point of interruption."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any, Self

import pytest

from cluster.api import Decision, FleetError, Listener, SearchListener, SearchRequest
from master.book.learned import FinishedGame, LearnedBook
from master.book.lessons import BookSearch, Lesson
from master.book.service import BookService
from master.book.study import Studied, StudyingSearcher
from master.player.events import GameFound, LoggedIn
from tests.answers import make_decision
from tests.master.player.table import BLACK
from tests.master.scripted import BrokenSearcher, ScriptedSearcher, first_legal
from tests.waiting import until
from worker.shogi import STARTPOS, Position

LINES = ((), ("7g7f", "3c3d"), ("2g2f", "8c8d"))


def lessons(path: Path, seconds: float = 2.0) -> list[Lesson]:
    made = []
    for moves in LINES:
        position = Position.startpos()
        position.push_all(moves)
        made.append(Lesson(STARTPOS, moves, position.sfen(), len(moves) + 1, seconds))
    with LearnedBook(path) as book:
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), made)
    return made


class Study:
    """A studying searcher over a scripted one."""

    def __init__(self, path: Path, choose: Any = first_legal, **more: Any) -> None:
        self.inner = ScriptedSearcher(choose)
        self.service = BookService(learn=path)
        self.service.open()
        self.searcher = StudyingSearcher(self.inner, self.service, itertools.count(1).__next__, **more)
        self.studied: list[Studied] = []
        self.searcher.on_studied = self.studied.append
        self.decisions: list[Decision] = []

    async def __aenter__(self) -> Self:
        await self.searcher.open(Listener())
        return self

    def decide(self, nodes: int = 5_000_000) -> None:
        """The running search ends."""
        request = self.inner.requests[-1]
        position = Position.from_sfen(request.sfen)
        position.push_all(request.moves)
        move, _ = first_legal(position)
        self.inner.decide(make_decision(request.search_id, move, -50, 12, (move,), nodes, 900, "split"))

    async def __aexit__(self, *_: object) -> None:
        await self.searcher.close()
        await self.service.close()


async def test_all_lessons_in_their_order(tmp_path: Path) -> None:
    wanted = lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", by_nodes=True) as study:
        assert await study.searcher.study() == 3
        assert [(request.moves, request.nodes) for request in study.inner.requests] == [
            (moves, 2_000_000) for moves in LINES
        ]
        assert [studied.lesson for studied in study.studied] == wanted
        assert study.decisions == []  # no game gets them
        assert await study.searcher.study() == 0
    with LearnedBook(tmp_path / "l.sqlite") as book:
        assert book.next_lesson() is None
        search = book.search_of(STARTPOS)
        assert search is not None
        assert search.studied


async def test_a_bad_position_leads_back_to_the_move_before_it(tmp_path: Path) -> None:
    made = lessons(tmp_path / "l.sqlite")
    with LearnedBook(tmp_path / "l.sqlite") as book:
        for lesson in made:
            book.finish_lesson(lesson, None)
        book.keep(STARTPOS, BookSearch("2g2f", 30, 8, 0.5, ("2g2f",)))
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), made[1:2])
    async with Study(tmp_path / "l.sqlite", lambda position: (first_legal(position)[0], -400), by_nodes=True) as study:
        assert await study.searcher.study() == 2
        assert [(request.moves, request.nodes) for request in study.inner.requests] == [
            (LINES[1], 2_000_000),
            ((), 1_000_000),
        ]


@pytest.mark.parametrize(("nps", "time_ms"), [(None, 2000), (4e6, 500)])
async def test_time_by_the_fleets_speed(tmp_path: Path, nps: float | None, time_ms: int) -> None:
    lessons(tmp_path / "l.sqlite")
    if nps is not None:
        with LearnedBook(tmp_path / "l.sqlite") as book:
            book.set_nps(nps)
    async with Study(tmp_path / "l.sqlite") as study:
        await study.searcher.study()
        assert study.inner.requests[0].soft_ms == time_ms
        assert study.inner.requests[0].nodes is None


@pytest.mark.parametrize(
    ("found", "searches"),
    [
        ([(400_000, 2000, 0), (1_300_000, 6_500, 0)], 2),  # a fifth of the expected speed
        ([(400_000, 2000, 0)] * 3, 3),  # no use
        ([(400_000, 2000, -31_990)], 1),  # a longer search would find nothing new
        ([(1_600_000, 2000, 0)], 1),
        ([(0, 0, None)], 1),  # the only legal move
    ],
)
async def test_a_fleet_that_is_slower_than_expected_searches_again(
    tmp_path: Path, found: list[tuple[int, int, int | None]], searches: int
) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        study.searcher.begin()
        for number, (nodes, elapsed_ms, score) in enumerate(found, start=1):
            await until(lambda number=number: len(study.inner.requests) == number)
            move = "1g1f"
            study.inner.decide(make_decision(number, move, score, 9, (move,), nodes, elapsed_ms, "vote"))
        await until(lambda: study.studied)
        assert len(study.studied) == 1
        assert study.studied[0].finished
        times = [request.soft_ms for request in study.inner.requests[:searches]]
        assert times == [2000, 8000, 6000][:searches]  # the part that was searched counts
        study.searcher.interrupt()


async def test_a_game_that_is_found_stops_the_study(tmp_path: Path) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        study.searcher.observe(LoggedIn("a"))
        await until(lambda: study.inner.requests)
        study.searcher.observe(GameFound(BLACK))
        assert study.inner.stopped == [1]
        study.decide(nodes=300)
        await study.searcher.new_game()
        assert study.inner.games == 1
        assert [(studied.finished, studied.decision.nodes) for studied in study.studied] == [(False, 300)]
        study.searcher.observe(LoggedIn("a"))  # the same lesson again
        await until(lambda: len(study.inner.requests) == 2)
        assert study.inner.requests[1].moves == study.inner.requests[0].moves
        study.decide()
        await until(lambda: len(study.inner.requests) == 3)
        study.decide()
        study.searcher.interrupt()
    with LearnedBook(tmp_path / "l.sqlite") as book:
        search = book.search_of(STARTPOS)
        assert search is not None
        assert (search.seconds, search.studied) == (5.0, True)
        assert book.stats().lessons == 2


async def test_a_game_that_is_found_while_the_disk_is_slow_gets_the_searcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        learned, answers = study.service.learned, asyncio.Event()

        async def slow(*words: Any, **more: Any) -> int:
            await answers.wait()
            return await learned(*words, **more)

        monkeypatch.setattr(study.service, "learned", slow)
        study.searcher.begin()
        await until(lambda: study.inner.requests)
        study.inner.decide(make_decision(1, "1g1f", 0, 9, ("1g1f",), 400_000, 2000, "vote"))  # a second search is due
        await asyncio.sleep(0.01)
        study.searcher.observe(GameFound(BLACK))
        answers.set()
        await study.searcher.new_game()
        assert len(study.inner.requests) == 1


@pytest.mark.parametrize(("source", "nodes"), [("fallback", 40_000), ("none", 0)])
async def test_a_lesson_that_no_node_has_searched_stays(tmp_path: Path, source: str, nodes: int) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        studying = asyncio.create_task(study.searcher.study())
        await until(lambda: study.inner.requests)
        study.inner.decide(make_decision(1, "1g1f", 0, 3, ("1g1f",), nodes, 2000, source))
        assert await studying == 0
        assert len(study.inner.requests) == 1
    with LearnedBook(tmp_path / "l.sqlite") as book:
        assert book.stats().lessons == len(LINES)


async def test_a_lesson_that_is_longer_than_any_gap_goes_on_from_gap_to_gap(tmp_path: Path) -> None:
    """Also over restarts. In the end, the move with the most search time counts."""
    (lesson, *_) = lessons(tmp_path / "l.sqlite", seconds=10.0)
    gaps = [(4_000_000, "2g2f"), (3_000_000, "7g7f"), (2_500_000, "7g7f")]
    wanted = [10_000, 6_000, 3_000]

    async def gap(nodes: int, move: str, time_ms: int, last: bool) -> None:
        async with Study(tmp_path / "l.sqlite", choose=None) as study:
            study.searcher.observe(LoggedIn("a"))
            await until(lambda: study.inner.requests)
            request = study.inner.requests[0]
            assert (request.moves, request.soft_ms) == (lesson.moves, time_ms)
            if not last:
                study.searcher.observe(GameFound(BLACK))
            decision = make_decision(request.search_id, move, -30, 20, (move,), nodes, time_ms, "split")
            study.inner.decide(decision)
            await until(lambda: study.studied)
            assert study.studied[0].finished == last
            await study.searcher.new_game()
        with LearnedBook(tmp_path / "l.sqlite") as book:
            book.set_nps(1e6)

    for number, ((nodes, move), time_ms) in enumerate(zip(gaps, wanted, strict=True), start=1):
        await asyncio.wait_for(gap(nodes, move, time_ms, last=number == len(gaps)), 20)
    with LearnedBook(tmp_path / "l.sqlite") as book:
        assert book.search_of(STARTPOS) == BookSearch("7g7f", -30, 20, 4.0, ("7g7f",), studied=True)
        assert book.stats().lessons == 2


async def test_found_before_it_has_begun(tmp_path: Path) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        study.searcher.observe(LoggedIn("a"))
        study.searcher.observe(GameFound(BLACK))
        await study.searcher.new_game()
        assert study.inner.requests == []


async def test_a_games_search_goes_before(tmp_path: Path) -> None:
    """Without `new_game` in between: nothing waits for the lesson's decision, and nothing receives it."""
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        study.searcher.begin()
        await until(lambda: study.inner.requests)
        listener = SearchListener(on_decision=study.decisions.append)
        study.searcher.start(SearchRequest(100, STARTPOS, ("7g7f",), soft_ms=10, hard_ms=20), listener)
        await asyncio.sleep(0.01)
        study.decide()
        assert [decision.search_id for decision in study.decisions] == [100]
        assert study.studied == []
    with LearnedBook(tmp_path / "l.sqlite") as book:
        assert book.stats().lessons == 3


async def test_cancelled_it_keeps_what_was_found(tmp_path: Path) -> None:
    lessons(tmp_path / "l.sqlite")
    async with Study(tmp_path / "l.sqlite", choose=None) as study:
        task = asyncio.create_task(study.searcher.study())
        await until(lambda: study.inner.requests)
        task.cancel()
        await until(lambda: study.inner.stopped)
        study.decide(nodes=400_000)
        with pytest.raises(asyncio.CancelledError):
            await task
    with LearnedBook(tmp_path / "l.sqlite") as book:
        search = book.search_of(STARTPOS)
        assert search is not None
        assert search.seconds == 0.4
        assert book.stats().lessons == 3


async def test_a_searcher_that_fails_leaves_the_queue_as_it_is(tmp_path: Path) -> None:
    lessons(tmp_path / "l.sqlite")
    service = BookService(learn=tmp_path / "l.sqlite")
    service.open()
    searcher = StudyingSearcher(BrokenSearcher(), service, itertools.count(1).__next__)
    await searcher.open(Listener())
    with pytest.raises(FleetError):
        await searcher.study()
    searcher.begin()
    await asyncio.sleep(0.05)
    await searcher.close()
    await service.close()
    with LearnedBook(tmp_path / "l.sqlite") as book:
        assert book.stats().lessons == 3
