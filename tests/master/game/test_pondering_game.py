"""A game of two pondering players with the searcher that ships, over real TCP."""

from __future__ import annotations

import asyncio

import pytest

from cluster.api import Decision, Listener
from cluster.coordination.settings import Settings
from cluster.drivers.local_driver import LocalSearcher
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, play_game
from master.player.events import GameEvent, GameOutcome, ThinkingBegan
from master.player.instructions import Login, PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from worker.warm import warm_up

MOVES = 24


class Seat:
    """One player and its events."""

    def __init__(self, name: str, game: str) -> None:
        self.login = Login(name, f"{game},secret")
        self.searcher = LocalSearcher(settings=Settings(validate=True), name=name)
        self.events: list[GameEvent] = []
        self.names: list[str] = []

    async def play(self, address: ServerAddress) -> GameOutcome:
        listener = Listener(on_event=lambda name, _fields: self.names.append(name))
        await self.searcher.open(listener)
        settings = GameSettings(player=PlayerSettings(nodes=3000))
        return await play_game(address, self.login, self.searcher, settings, [self.events.append])


@pytest.mark.slow
async def test_a_game_with_ponder_hits() -> None:
    warm_up()
    options = ServerOptions(port=0, room=RoomOptions(max_moves=MOVES))
    seats = [Seat("alice", "test-600-5F-B"), Seat("bob", "test-600-5F-W")]
    try:
        async with PracticeServer(options) as server:
            address = ServerAddress(*server.address)
            outcomes = await asyncio.gather(*(seat.play(address) for seat in seats))
        assert [(outcome.reason, outcome.plies) for outcome in outcomes] == [("MAX_MOVES", MOVES)] * 2
        hits = sum(seat.names.count("ponder_hit") for seat in seats)
        misses = sum(seat.names.count("ponder_miss") for seat in seats)
        began = [event for seat in seats for event in seat.events if isinstance(event, ThinkingBegan)]
        # A mate in one needs no search; here it can only be the last move.
        assert len(began) in (MOVES - 1, MOVES)
        # Neither side ponders before its first search.
        assert hits + misses == len(began) - 2
        assert hits >= 3
        # A hit is known before its search begins, unless the reply came before pondering's first report.
        assert any(event.known is not None for event in began)
        decided = [event for seat in seats for event in seat.events if isinstance(event, Decision)]
        assert len(decided) == len(began)
        assert all(decision.nodes <= 3000 for decision in decided)
        for seat in seats:
            host = seat.searcher._host
            assert host is not None
            assert not host.coordinator.pondering
    finally:
        for seat in seats:
            await seat.searcher.close()
