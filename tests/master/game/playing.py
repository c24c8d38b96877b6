"""Whole games over TCP against a scripted opponent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from rsshogi.record import Record

from cluster.api import Listener
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, play_game
from master.player.events import GameOutcome
from master.player.instructions import Login, PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.master.csa.peer import Peer
from tests.master.scripted import ScriptedSearcher
from worker.clock import ClockSettings

FAST = PlayerSettings(clock=ClockSettings(network_margin_ms=200, most_reserve_ms=50), guard_ms=50)


def server(room: RoomOptions | None = None, records: Path | None = None) -> PracticeServer:
    return PracticeServer(ServerOptions(port=0, room=room or RoomOptions(), record_folder=records))


async def play(
    server: PracticeServer,
    name: str,
    searcher: ScriptedSearcher,
    game: str = "test-60-5F",
    records: Path | None = None,
    observers: tuple[Any, ...] = (),
    settings: PlayerSettings = FAST,
) -> GameOutcome:
    await searcher.open(Listener())
    return await play_game(
        ServerAddress(*server.address),
        Login(name, f"{game},secret"),
        searcher,
        GameSettings(player=settings, record_folder=records, prepare_timeout_s=0.2),
        observers,
    )


async def both(
    server: PracticeServer, black: ScriptedSearcher, white: ScriptedSearcher, game: str = "test-60-5F", **more: Any
) -> tuple[GameOutcome, GameOutcome]:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(play(server, "alice", black, f"{game}-B", **more))
        second = group.create_task(play(server, "bob", white, f"{game}-W", **more))
    return first.result(), second.result()


async def opponent(server: PracticeServer, side: str = "W", game: str = "test-60-5F") -> Peer:
    """A bare connection that has logged in."""
    peer = await Peer.connect(server.address)
    peer.say(f"LOGIN peer {game}-{side},p")
    return peer


async def agree(peer: Peer) -> None:
    await peer.until("END Game_Summary")
    peer.say("AGREE")
    await peer.until("START:")


def check_record(path: Path | None, outcome: GameOutcome) -> Record:
    assert path is not None
    record = Record.from_csa_file(str(path))
    assert record.move_count == outcome.plies
    return record
