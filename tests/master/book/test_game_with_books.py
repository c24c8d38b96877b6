"""Whole games over TCP with books: a file that gives moves, one that hangs, and lines that are left after a loss."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from rsshogi.record import Record

from benchmarks.learning import Plan, Round, play_rounds
from cluster.api import Listener
from lab.training import generation0
from master.book.opening import OpeningSettings
from master.book.service import BookService
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, PlayersBook, play_game
from master.player.events import GameEvent, GameOutcome, MovePlayed, Note
from master.player.instructions import AskBook, BookAnswer, Login, PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.master.scripted import ScriptedSearcher
from worker.book import BookSettings
from worker.nnue.format import serialise_network
from worker.shogi import STARTPOS, Position

pytestmark = pytest.mark.timeout(120)


class Hanging:
    """A book that never answers, with the requests that it got."""

    def __init__(self) -> None:
        self.asked: list[AskBook] = []
        self.heard: list[GameEvent] = []

    def ask(self, question: AskBook, reply: Callable[[BookAnswer | None], None]) -> None:
        self.asked.append(question)

    def observe(self, event: GameEvent) -> None:
        self.heard.append(event)


class Failing(Hanging):
    def ask(self, question: AskBook, reply: Callable[[BookAnswer | None], None]) -> None:
        raise RuntimeError("no thread")


async def play(
    address: ServerAddress, side: str, book: PlayersBook, records: Path, events: list[GameEvent]
) -> GameOutcome:
    searcher = ScriptedSearcher()
    await searcher.open(Listener())
    settings = GameSettings(PlayerSettings(book_ms=300, ponder=False), records, prepare_timeout_s=0.2, book=book)
    login = Login(f"player{side}", f"test-60-5F-{side},secret")
    return await play_game(address, login, searcher, settings, [events.append])


async def test_books_in_a_game(tmp_path: Path) -> None:
    after = Position.startpos()
    after.push_all(("7g7f", "3c3d"))
    entries = sorted((f"sfen {STARTPOS}\n7g7f 3c3d 30 20 5\n", f"sfen {after.sfen()}\n2g2f none 25 20 5\n"))
    (tmp_path / "book.db").write_text("".join(entries))
    hanging: list[GameEvent] = []
    played: list[GameEvent] = []
    service = BookService(OpeningSettings((tmp_path / "book.db",), BookSettings()))
    service.open()
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=6))) as server:
        address = ServerAddress(*server.address)
        async with asyncio.TaskGroup() as group:
            mine = group.create_task(play(address, "B", service, tmp_path / "records", played))
            group.create_task(play(address, "W", Hanging(), tmp_path / "records", hanging))
    await service.close()
    record = Record.from_csa_file(str(mine.result().record_path))
    assert record.moves[0].move.to_usi() == "7g7f"
    assert record.moves[0].engine_info.eval == 30
    assert record.moves[0].comment == "book: book.db"
    moves = [event for event in played if isinstance(event, MovePlayed)]
    assert (moves[0].usi, moves[0].comment.book) == ("7g7f", "book.db")
    assert [move.comment.book for move in moves if move.mine][1:] == ["", ""]  # the opponent does not follow the book
    late = [event for event in hanging if isinstance(event, Note) and event.event == "book_late"]
    assert len(late) == 3
    assert len(moves) == 6


async def test_a_book_that_cannot_be_asked(tmp_path: Path) -> None:
    events: list[GameEvent] = []
    book = Failing()
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=2))) as server:
        address = ServerAddress(*server.address)
        async with asyncio.TaskGroup() as group:
            group.create_task(play(address, "B", book, tmp_path, events))
            group.create_task(play(address, "W", Failing(), tmp_path, []))
    assert [event.comment.book for event in events if isinstance(event, MovePlayed)] == ["", ""]
    assert book.heard == events  # it gets all events, as observers do


@pytest.mark.slow
async def test_a_lost_line_is_left_after_one_study(tmp_path: Path) -> None:
    """The real searcher against itself with twenty times the nodes, which plays the same again. Nothing is random.

    Both have generation 0, because another network plays other games, in which the study may find nothing better.
    """
    network = tmp_path / "nn.bin"
    network.write_bytes(serialise_network(generation0.build()))
    rounds: list[Round] = []
    plan = Plan(nodes=200, rounds=2, net=str(network))
    await play_rounds(plan, tmp_path / "learned.sqlite", lambda _number, played: rounds.append(played))
    first, second = rounds
    assert first.outcome.conclusion == "LOSE"
    assert first.from_book == 0
    assert len(first.studied) >= 4
    assert all(studied.finished for studied in first.studied)
    assert second.from_book > 0
    leaves = second.leaves(first)
    assert leaves in {studied.lesson.ply for studied in first.studied}
    (better,) = (studied.decision.move for studied in first.studied if studied.lesson.ply == leaves)
    assert second.moves[leaves - 1] == better
