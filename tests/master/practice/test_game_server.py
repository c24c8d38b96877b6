"""Games with a server that refuses, offers another game, or gets our LOGOUT: on loopback TCP."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from master.game.driver import WrongGameError
from master.practice.server_room import RoomOptions
from tests.master.csa.peer import Peer
from tests.master.game.playing import FAST, agree, opponent, play, server
from tests.master.scripted import ScriptedSearcher

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("game", "says"),
    [
        ("floodgate-60-5F-W", "not allowed to specify TEBAN - for the game floodgate-60-5F; leave -B or -W out"),
        ("hc2p_x-60-5F", "Random turn preference is not allowed for handicapped games; put -B or -W"),
    ],
)
async def test_a_login_that_brings_no_game_ends_at_once(game: str, says: str) -> None:
    async with server() as host:
        with pytest.raises(WrongGameError, match=says) as caught:
            await play(host, "alice", ScriptedSearcher(), game)
        assert str(caught.value).startswith("127.0.0.1:")
        assert not caught.value.offered


async def test_a_misspelt_name_is_not_played_as_another_game(tmp_path: Path) -> None:
    """The server pairs it as its default game, of 25 minutes a side."""
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
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("any_game", [True, False])
async def test_other_times_than_the_name_says_are_played_only_on_demand(any_game: bool) -> None:
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
            with pytest.raises(WrongGameError, match=r"60 s \+ 5 s a move, and the server offers 2 s \+ 1 s a move"):
                await game
        await peer.connection.close()
