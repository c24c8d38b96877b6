"""Whole games over real TCP: practice server, two clients, scripted searchers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from master.csa.login import ServerAddress
from master.game.driver import play_game
from master.game.recorder import Recorder
from master.player.events import Conclusion, GameEnded, GameEvent, MovePlayed, Note, ThinkingBegan
from master.player.instructions import Login
from master.practice.server_room import RoomOptions
from master.records.record import RecordFile
from tests.master.game.playing import agree, both, check_record, opponent, play, server
from tests.master.scripted import BrokenSearcher, ScriptedSearcher

pytestmark = pytest.mark.timeout(60)


async def test_a_searcher_that_never_decides_loses_no_game_on_time() -> None:
    async with server(RoomOptions(max_moves=4)) as host:
        notes: list[GameEvent] = []
        black, white = await both(
            host, ScriptedSearcher(None), ScriptedSearcher(None), "test-0-1", observers=(notes.append,)
        )
    assert black.reason == white.reason == "MAX_MOVES"
    assert sum(isinstance(note, Note) and note.event == "fallback_move" for note in notes) == 4


async def test_a_searcher_that_is_broken_still_plays_legal_moves() -> None:
    async with server(RoomOptions(max_moves=6)) as host:
        black, _ = await both(host, BrokenSearcher(), BrokenSearcher())
    assert black.reason == "MAX_MOVES"


async def test_a_searcher_that_never_gets_ready_does_not_lose_the_game() -> None:
    class Slow(ScriptedSearcher):
        async def new_game(self) -> None:
            await asyncio.sleep(60)

    async with server(RoomOptions(max_moves=2)) as host:
        black, _ = await both(host, Slow(), ScriptedSearcher())
    assert black.reason == "MAX_MOVES"


def broken(*_: object) -> None:
    raise OverflowError("out of range")


async def test_an_observer_that_fails_and_a_disk_that_refuses_harm_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with server(RoomOptions(max_moves=2), records=tmp_path / "file") as host:
        searchers = ScriptedSearcher(), ScriptedSearcher()
        black, _ = await both(host, *searchers, records=tmp_path / "file", observers=(broken,))
    assert (black.reason, black.record_path) == ("MAX_MOVES", None)


async def test_a_record_that_cannot_be_kept_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "__call__", broken)
    async with server(RoomOptions(max_moves=2)) as host:
        black, _ = await both(host, ScriptedSearcher(), ScriptedSearcher(), records=tmp_path)
    assert black.reason == "MAX_MOVES"


@pytest.mark.parametrize("moves", [[], ["-3334FU"]])
async def test_the_opponent_disconnects(tmp_path: Path, moves: list[str]) -> None:
    """On turn, and off turn: in the second case the server notices at its next turn."""
    async with server() as host:
        peer = await opponent(host)
        game = asyncio.create_task(play(host, "alice", ScriptedSearcher(delay_s=0.1), "test-60-5F-B", tmp_path))
        await agree(peer)
        for move in moves:
            await peer.until("+")
            peer.say(move)
            await peer.until("-")
        if not moves:
            await peer.until("+")
        await peer.connection.close()
        outcome = await game
        assert (outcome.conclusion, outcome.reason) == (Conclusion.WIN, "RESIGN")
        check_record(outcome.record_path, outcome)


async def test_the_server_stops_during_a_game(tmp_path: Path) -> None:
    host = server()
    await host.start()
    moved = asyncio.Event()

    def watch(event: GameEvent) -> None:
        if isinstance(event, MovePlayed) and event.ply == 5:
            moved.set()

    searchers = ScriptedSearcher(delay_s=0.05), ScriptedSearcher(delay_s=0.05)
    game = asyncio.create_task(both(host, *searchers, records=tmp_path, observers=(watch,)))
    await moved.wait()
    await host.stop()
    for outcome in await game:
        assert outcome.conclusion is Conclusion.INTERRUPTED
        check_record(outcome.record_path, outcome)


async def test_the_line_drops_during_a_game(tmp_path: Path) -> None:
    """A server that vanishes without a message."""
    async with server() as host:
        peer = await opponent(host)
        game = asyncio.create_task(play(host, "alice", ScriptedSearcher(), "test-60-5F-B", tmp_path))
        await agree(peer)
        await peer.until("+")
        next(lines for lines in host._lines.values()).transport.abort()
        for lines in list(host._lines.values()):
            lines.transport.abort()
        outcome = await game
        assert outcome.conclusion is Conclusion.DISCONNECTED
        record = check_record(outcome.record_path, outcome)
        assert "disconnected" in (record.main_terminal.comment or "")
        await peer.connection.close()


@pytest.mark.parametrize("ours", [True, False])
async def test_cancelled_during_a_game(tmp_path: Path, ours: bool) -> None:
    events: list[GameEvent] = []
    async with server() as host:
        peer = await opponent(host, "W" if ours else "B")
        searcher = ScriptedSearcher(None)
        side = "B" if ours else "W"
        game = asyncio.create_task(
            play(host, "alice", searcher, f"test-60-5F-{side}", tmp_path, observers=(events.append,))
        )
        await agree(peer)
        await asyncio.sleep(0.1)
        started = asyncio.get_running_loop().time()
        game.cancel()
        with pytest.raises(asyncio.CancelledError):
            await game
        assert asyncio.get_running_loop().time() - started < 5
        if not ours:
            peer.say("+7776FU")
        await peer.until("#WIN")
        await peer.connection.close()
    (end,) = [event for event in events if isinstance(event, GameEnded)]
    assert (end.outcome.conclusion, end.outcome.reason) == (Conclusion.LOSE, "RESIGN")
    record = check_record(end.outcome.record_path, end.outcome)
    assert record.result.is_white_win() if ours else record.result.is_black_win()
    assert ours or "left on the opponent's turn" in (record.main_terminal.comment or "")
    assert len(searcher.stopped) == ours


async def test_cancelled_while_waiting_for_a_game() -> None:
    async with server() as host:
        game = asyncio.create_task(play(host, "alice", ScriptedSearcher()))
        await asyncio.sleep(0.1)
        game.cancel()
        with pytest.raises(asyncio.CancelledError):
            await game
        await asyncio.sleep(0.05)
        assert host._room._visitors == {}


async def test_cancelled_with_a_server_that_says_nothing(tmp_path: Path) -> None:
    """The player waits for the server's last line, but not for long."""
    accepted = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        login = (await reader.readline()).decode().split()[1]
        writer.write(f"LOGIN:{login} OK\n".encode())
        accepted.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as mute_server:
        host, port = mute_server.sockets[0].getsockname()
        game = asyncio.create_task(play_game(ServerAddress(host, port), Login("alice", "p"), ScriptedSearcher()))
        await accepted.wait()
        await asyncio.sleep(0.05)
        game.cancel()
        with pytest.raises(asyncio.CancelledError):
            await game


async def test_the_searchers_time_is_that_of_the_clock() -> None:
    events: list[GameEvent] = []
    async with server(RoomOptions(max_moves=4)) as host:
        searcher = ScriptedSearcher(delay_s=0.05)
        await both(host, searcher, ScriptedSearcher(), "test-0-1", observers=(events.append,))
    for request in searcher.requests:
        assert request.hard_ms is not None
        assert 500 < request.hard_ms <= 800
    # The side to move after the last move may begin to think before it receives the end.
    assert sum(isinstance(event, ThinkingBegan) for event in events) in (4, 5)
    assert all(event.consumed_ms == 0 for event in events if isinstance(event, MovePlayed))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost", ServerAddress("localhost", 4081)),
        ("localhost:1234", ServerAddress("localhost", 1234)),
        ("[::1]:99", ServerAddress("::1", 99)),
        ("[::1]", ServerAddress("::1", 4081)),
    ],
)
def test_addresses(text: str, address: ServerAddress) -> None:
    assert ServerAddress.parse(text) == address
    assert ServerAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    ["", ":4081", "host:", "host:port", "host:0", "host:65536", "host:-1", "host:４", "::1", "2001:db8::5", "[::1:99"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        ServerAddress.parse(text)


async def test_a_slow_disk_costs_no_time_on_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RecordFile.write

    def slow(file: RecordFile, text: str) -> None:
        time.sleep(0.5)
        write(file, text)

    monkeypatch.setattr(RecordFile, "write", slow)
    async with server(RoomOptions(max_moves=4), records=tmp_path) as host:
        started = asyncio.get_running_loop().time()
        black, _ = await both(host, ScriptedSearcher(), ScriptedSearcher(), "test-0-1", records=tmp_path)
        assert black.reason == "MAX_MOVES"
        assert asyncio.get_running_loop().time() - started < 5
        check_record(black.record_path, black)


async def test_no_record_of_a_game_that_never_began(tmp_path: Path) -> None:
    async with server() as host:
        peer = await opponent(host)
        game = asyncio.create_task(play(host, "alice", ScriptedSearcher(), "test-60-5F-B", tmp_path))
        await peer.until("END Game_Summary")
        peer.say("REJECT")
        assert (await game).record_path is None
        await peer.connection.close()
    assert os.listdir(tmp_path) == []
