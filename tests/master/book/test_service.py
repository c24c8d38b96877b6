"""The book's thread: answers, the entries of finished games, and books that fail or hang."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from master.book.learned import LearnedBook
from master.book.lessons import BookSearch
from master.book.opening import OpeningSettings
from master.book.service import BookService
from master.player.events import (
    Clocks,
    Conclusion,
    GameBegan,
    GameEnded,
    GameEvent,
    GameOutcome,
    MoveComment,
    MovePlayed,
    ThinkingBegan,
)
from master.player.instructions import AskBook, BookAnswer
from tests.answers import make_decision
from tests.master.player.table import BLACK
from worker.book import BookError, BookSettings
from worker.shogi import STARTPOS, Position

CLOCKS = Clocks((1, 1), 0)
QUESTION = AskBook(7, STARTPOS, (), 1000)


async def ask(service: BookService, question: AskBook = QUESTION) -> BookAnswer | None:
    answer: asyncio.Future[BookAnswer | None] = asyncio.get_running_loop().create_future()
    service.ask(question, answer.set_result)
    return await answer


def game(scores: tuple[int, ...], conclusion: Conclusion = Conclusion.LOSE, reason: str = "RESIGN") -> list[GameEvent]:
    """A game of ours as black, with our scores; each search has a million nodes in half a second."""
    position = Position.startpos()
    events: list[GameEvent] = [GameBegan(BLACK, STARTPOS, CLOCKS)]
    lines = ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b")
    for ply, usi in enumerate(lines[: 2 * len(scores)], start=1):
        mine = ply % 2 == 1
        score = scores[ply // 2] if mine else None
        if mine:
            events.append(ThinkingBegan(ply, ply - 1, 500, 900, CLOCKS))
            events.append(make_decision(ply, usi, score, 9, (usi,), 1_000_000, 500, "split"))
        position.push_usi(usi)
        comment = MoveComment(score)
        events.append(MovePlayed(ply, 1 - ply % 2, mine, usi, "", 1000, position.sfen(), CLOCKS, comment))
    events.append(GameEnded(GameOutcome(conclusion, reason, BLACK, plies=2 * len(scores), sfen=position.sfen())))
    return events


async def test_a_lost_game_is_remembered_and_leaves_lessons(tmp_path: Path) -> None:
    service = BookService(learn=tmp_path / "learned.sqlite")
    service.open()
    for event in game((10, 0, -350, -800)):
        service.observe(event)
    lesson = await service.next_lesson()
    assert lesson is not None
    assert (lesson.ply, lesson.seconds, lesson.moves) == (5, 2.0, ("7g7f", "3c3d", "2g2f", "8c8d"))
    assert service.nps == 2e6
    await service.close()
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        assert book.search_of(STARTPOS) == BookSearch("7g7f", 10, 9, 1.0, ("7g7f",))
        stats = book.stats()
        assert (stats.searches, stats.lessons, stats.games, stats.nps) == (4, 3, {"LOSE": 1}, 2e6)


@pytest.mark.parametrize(
    ("conclusion", "reason", "lessons"),
    [
        (Conclusion.WIN, "RESIGN", 0),
        (Conclusion.DRAW, "SENNICHITE", 0),
        (Conclusion.DISCONNECTED, "connection lost", 0),
        (Conclusion.LOSE, "TIME_UP", 0),
        (Conclusion.LOSE, "RESIGN", 2),
    ],
)
async def test_only_what_was_lost_on_the_board_is_studied(
    tmp_path: Path, conclusion: Conclusion, reason: str, lessons: int
) -> None:
    service = BookService(learn=tmp_path / "learned.sqlite")
    service.open()
    for event in game((0, 20), conclusion, reason):
        service.observe(event)
    await service.close()
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        assert book.stats().lessons == lessons


async def test_what_was_learned_is_answered_by_the_measured_speed(tmp_path: Path) -> None:
    service = BookService(learn=tmp_path / "learned.sqlite")
    service.open()
    for event in game((10,), Conclusion.WIN):
        service.observe(event)
    # A reference second, and two million nodes a second: more than half a second's search.
    assert await ask(service, replace(QUESTION, soft_ms=499)) == BookAnswer("7g7f", "learned", 10, 9, ("7g7f",))
    assert await ask(service, replace(QUESTION, soft_ms=500)) is None
    await service.close()


async def test_a_book_that_hangs_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    service = BookService(learn=tmp_path / "learned.sqlite")
    service.open()
    assert service._opening is not None
    monkeypatch.setattr(service._opening, "reply", lambda *_: released.wait(10))
    answers: list[object] = []
    service.ask(QUESTION, answers.append)
    for event in game((10, -400)):
        service.observe(event)
    await asyncio.sleep(0)
    assert answers == []
    released.set()
    assert await service.next_lesson() is not None  # all of it was done, in order
    assert answers == [True]
    await service.close()


async def test_a_book_that_fails_has_no_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = BookService(learn=tmp_path / "learned.sqlite")
    service.open()
    assert service._opening is not None
    for error in (BookError("damaged"), RuntimeError("worse")):

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(service._opening, "reply", fail)
        assert await ask(service) is None
    await service.close()


def test_a_file_that_cannot_be_read_leaves_nothing_open(tmp_path: Path) -> None:
    settings = OpeningSettings((tmp_path / "none.db",), BookSettings())
    with pytest.raises(BookError, match=r"none\.db"):
        BookService(settings, tmp_path / "learned.sqlite").open()
    LearnedBook(tmp_path / "learned.sqlite").close()
