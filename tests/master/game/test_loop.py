from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.api import Listener
from master.csa.client import CsaConnectionError
from master.csa.login import ServerAddress
from master.game import driver as game
from master.game import loop as game_loop
from master.game.driver import LoginRefusedError
from master.game.loop import Backoff, NameTakenError, Series, play_games
from master.player.events import Conclusion, GameEvent, GameOutcome, LoggedIn, MovePlayed
from master.player.instructions import Login
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.master.csa.peer import free_port
from tests.master.game.playing import opponent
from tests.master.scripted import ScriptedSearcher

pytestmark = pytest.mark.timeout(60)

QUICK = Backoff(first_s=0.05, factor=1.0, most_s=0.1, attempts=100)


async def loop(address: tuple[str, int], name: str, **more: Any) -> list[GameOutcome]:
    searcher = ScriptedSearcher()
    await searcher.open(Listener())
    game = more.pop("game", "floodgate-60-5F")
    options = {"backoff": QUICK, **more}
    return await play_games(Series(ServerAddress(*address), Login(name, f"{game},secret"), searcher, **options))


def server(port: int = 0) -> PracticeServer:
    return PracticeServer(ServerOptions(port=port, room=RoomOptions(max_moves=4)))


async def test_game_after_game() -> None:
    async with server() as host, asyncio.TaskGroup() as group:
        tasks = [group.create_task(loop(host.address, name, count=3)) for name in ("alice", "bob")]
        alice, bob = [await task for task in tasks]
    assert [outcome.reason for outcome in alice] == ["MAX_MOVES"] * 3
    colours = [outcome.summary.my_colour for outcome in alice if outcome.summary is not None]
    assert set(colours) == {0, 1}
    assert len({outcome.summary.game_id for outcome in bob if outcome.summary is not None}) == 3


async def test_stopped_while_waiting_for_a_game() -> None:
    stop = asyncio.Event()

    def watch(event: GameEvent) -> None:
        if isinstance(event, LoggedIn):
            stop.set()

    async with server() as host:
        assert await loop(host.address, "alice", stop=stop, observers=[watch]) == []


async def test_stopped_during_a_game_which_is_played_to_its_end() -> None:
    stop = asyncio.Event()

    def watch(event: GameEvent) -> None:
        if isinstance(event, MovePlayed):
            stop.set()

    async with server() as host, asyncio.TaskGroup() as group:
        other = group.create_task(loop(host.address, "bob", stop=stop))
        (outcome,) = await loop(host.address, "alice", stop=stop, observers=[watch])
        assert outcome.reason == "MAX_MOVES"
        assert len(await other) == 1


async def test_a_server_that_comes_late_and_one_that_restarts() -> None:
    port = free_port()
    in_game = asyncio.Event()

    def watch(event: GameEvent) -> None:
        if isinstance(event, MovePlayed) and event.ply == 2:
            in_game.set()

    stop = asyncio.Event()
    games = [
        asyncio.create_task(loop(("127.0.0.1", port), name, stop=stop, observers=[watch])) for name in ("alice", "bob")
    ]
    await asyncio.sleep(0.2)
    for _ in range(2):
        in_game.clear()
        async with server(port):
            await in_game.wait()
    in_game.clear()
    async with server(port):
        await in_game.wait()
        stop.set()
        outcomes = [outcome for game in games for outcome in await game]
    assert {outcome.conclusion for outcome in outcomes} <= {
        Conclusion.INTERRUPTED,
        Conclusion.DISCONNECTED,
        Conclusion.CENSORED,
    }
    assert len(outcomes) >= 6


async def test_the_first_refused_login_ends_it() -> None:
    async with server() as host:
        peer = await opponent(host)  # with another password
        await peer.until("LOGIN:")
        with pytest.raises(LoginRefusedError):
            await loop(host.address, "peer", count=1)


async def test_a_name_that_still_plays_after_a_crash_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal refused
        await reader.readline()
        refused += 1
        writer.write(b"LOGIN:incorrect\n")
        await writer.drain()
        writer.close()

    monkeypatch.setattr(game_loop, "REFUSED_S", 0.5)
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as host:
        with pytest.raises(LoginRefusedError):
            await loop(host.sockets[0].getsockname(), "alice", count=5)
    assert refused > 2


async def test_a_fault_of_ours_does_not_end_the_other_games(monkeypatch: pytest.MonkeyPatch) -> None:
    played = game_loop.play_game
    faults = 0

    async def faulty(*arguments: Any, **more: Any) -> GameOutcome:
        nonlocal faults
        faults += 1
        if faults == 1:
            raise RuntimeError("a fault of ours")
        return await played(*arguments, **more)

    monkeypatch.setattr(game_loop, "play_game", faulty)
    async with server() as host, asyncio.TaskGroup() as group:
        tasks = [group.create_task(loop(host.address, name, count=1)) for name in ("alice", "bob")]
        assert [(await task)[0].reason for task in tasks] == ["MAX_MOVES"] * 2
    assert faults == 3


async def test_a_connection_that_stood_for_long_begins_the_row_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that drops every client after the login: without the rule three of these would be the end."""
    logins: list[float] = []
    stop = asyncio.Event()

    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"LOGIN:alice OK\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        logins.append(asyncio.get_running_loop().time())
        if len(logins) == 6:
            stop.set()
        writer.close()

    async def main(steady_s: float) -> None:
        monkeypatch.setattr(game_loop, "STEADY_S", steady_s)
        async with await asyncio.start_server(drop, "127.0.0.1", 0) as host:
            address = host.sockets[0].getsockname()
            assert await loop(address, "alice", stop=stop, backoff=Backoff(first_s=0.02, attempts=3)) == []

    await main(0.01)
    assert len(logins) == 6
    stop = asyncio.Event()
    with pytest.raises(CsaConnectionError, match="closed the connection"):
        await main(60.0)
    assert len(logins) == 9


async def test_a_server_that_does_not_answer_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game, "LOGIN_S", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as host:
        with pytest.raises(CsaConnectionError, match="no answer to the login"):
            await loop(host.sockets[0].getsockname(), "alice", backoff=Backoff(attempts=1))


async def test_of_two_players_with_one_name_one_gives_up_and_the_other_plays() -> None:
    async with server() as host:
        rivals = {asyncio.create_task(loop(host.address, "alice", count=1)) for _ in range(2)}
        (ended,), (left,) = await asyncio.wait(rivals, return_when=asyncio.FIRST_EXCEPTION)
        error = ended.exception()
        assert isinstance(error, NameTakenError)
        assert str(error) == (
            f"{ServerAddress(*host.address)} closed the connection 8 times in a row while 'alice' waited for a game"
            ": it seems that another player logs in with this name and password; end it, or take another name"
        )
        (outcome,) = await loop(host.address, "bob", count=1)
        assert outcome.reason == "MAX_MOVES"
        assert [outcome.reason for outcome in await left] == ["MAX_MOVES"]


async def test_a_name_that_still_plays_behind_a_dropped_connection_is_tried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even long after the first login."""
    answers = iter([b"LOGIN:alice OK\n", *[b"LOGIN:incorrect\n"] * 5])
    monkeypatch.setattr(game_loop, "REFUSED_S", 0.0)
    stop = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        if (line := next(answers, None)) is None:
            stop.set()
        else:
            writer.write(line)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as host:
        assert await loop(host.sockets[0].getsockname(), "alice", stop=stop) == []
    assert next(answers, None) is None
