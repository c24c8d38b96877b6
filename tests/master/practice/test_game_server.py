"""Games with a server that refuses, offers another game, or hears that we leave: on loopback TCP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from master.csa.client import CsaConnectionError
from master.csa.login import ServerAddress
from master.game.driver import WrongGameError, play_game
from master.player.events import Conclusion, GameEnded, GameEvent
from master.player.instructions import Login
from master.practice.server_room import RoomOptions
from tests.master.csa.peer import Peer
from tests.master.game.playing import FAST, agree, check_record, opponent, play, run, server
from tests.master.scripted import ScriptedSearcher

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("game", "says"),
    [
        ("floodgate-60-5F-W", "not allowed to specify TEBAN - for the game floodgate-60-5F; leave -B or -W out"),
        ("hc2p_x-60-5F", "Random turn preference is not allowed for handicapped games; put -B or -W"),
    ],
)
def test_a_login_that_brings_no_game_ends_at_once(game: str, says: str) -> None:
    async def main() -> None:
        async with server() as host:
            with pytest.raises(WrongGameError, match=says) as caught:
                await play(host, "alice", ScriptedSearcher(), game)
            assert str(caught.value).startswith("127.0.0.1:")
            assert not caught.value.offered

    run(main())


def test_a_server_that_begins_no_games_for_now() -> None:
    async def main() -> None:
        said: list[bytes] = []

        async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            why = "As the service is going to shutdown shortly, starting new games is not allowed now."
            writer.write(f"LOGIN:alice OK\n##[ERROR] {why}\n".encode())
            said.append(await reader.readline())
            writer.close()

        async with await asyncio.start_server(closing, "127.0.0.1", 0) as host:
            address = ServerAddress(*host.sockets[0].getsockname())
            with pytest.raises(CsaConnectionError, match="starting new games is not allowed now"):
                await play_game(address, Login("alice", "test-60-5F,p"), ScriptedSearcher())
            assert said == [b"LOGOUT\n"]

    run(main())


def test_a_misspelt_name_is_not_played_as_another_game(tmp_path: Path) -> None:
    """The server pairs it as its default game, of 25 minutes a side."""

    async def main() -> None:
        async with server() as host:
            peer = await Peer.connect(host.address)
            peer.say("LOGIN peer default-1500-0,p")
            settings = replace(FAST, game="floodgate300-10F")
            says = "asked for the game floodgate300-10F, and the server offers default-1500-0"
            with pytest.raises(WrongGameError, match=says) as caught:
                await play(host, "alice", ScriptedSearcher(), "floodgate300-10F", tmp_path, settings=settings)
            assert caught.value.offered
            assert (await peer.until("REJECT:")).endswith(" by alice")
            await peer.connection.close()

    run(main())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("any_game", [True, False])
def test_other_times_than_the_name_says_are_played_only_on_demand(any_game: bool) -> None:
    async def main() -> None:
        async with server(RoomOptions(max_moves=2)) as host:
            peer = await opponent(host, "W", "test-2-1F")
            settings = replace(FAST, game="" if any_game else "test-60-5F")
            game = asyncio.create_task(play(host, "alice", ScriptedSearcher(), "test-2-1F-B", settings=settings))
            if any_game:
                await agree(peer)
                await peer.until("+")
                peer.say("-3334FU")
                assert (await game).reason == "MAX_MOVES"
            else:
                with pytest.raises(
                    WrongGameError, match=r"60 s \+ 5 s a move, and the server offers 2 s \+ 1 s a move"
                ):
                    await game
            await peer.connection.close()

    run(main())


def test_an_opponent_who_moves_in_time_brings_the_servers_word(tmp_path: Path) -> None:
    async def main() -> None:
        events: list[GameEvent] = []
        async with server() as host:
            peer = await opponent(host, "B")
            game = asyncio.create_task(
                play(host, "alice", ScriptedSearcher(None), "test-60-5F-W", tmp_path, observers=(events.append,))
            )
            await agree(peer)
            await asyncio.sleep(0.1)
            game.cancel()
            await asyncio.sleep(0.1)
            peer.say("+7776FU")
            assert await peer.until("%") == "%TORYO"
            await peer.until("#WIN")
            with pytest.raises(asyncio.CancelledError):
                await game
            await peer.connection.close()
        (end,) = [event for event in events if isinstance(event, GameEnded)]
        assert (end.outcome.conclusion, end.outcome.plies, end.outcome.comment) == (Conclusion.LOSE, 1, "")
        assert check_record(end.outcome.record_path, end.outcome).result.is_black_win()

    run(main())
