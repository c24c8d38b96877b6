"""The connection thread: a searcher that blocks its own loop delays no move."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from cluster.api import SILENT, Listener, SearchListener, SearchRequest
from master.csa.client import CsaConnectionError
from master.csa.login import ServerAddress
from master.game import connection_thread
from master.game.connection_thread import play_games_on_thread
from master.game.driver import GameSettings, LoginRefusedError
from master.game.loop import Backoff, Series
from master.player.events import GameEvent, GameOutcome, MovePlayed
from master.player.instructions import Login
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.answers import make_progress
from tests.master.csa.peer import free_port
from tests.master.game.playing import FAST
from tests.master.scripted import BrokenSearcher, ScriptedSearcher

pytestmark = pytest.mark.timeout(60)


class Stuck(ScriptedSearcher):
    """Blocks its whole loop in every call, for longer than the time of a move."""

    def start(self, request: SearchRequest, listener: SearchListener = SILENT) -> None:
        time.sleep(1.5)
        super().start(request, listener)

    def stop(self, search_id: int) -> None:
        time.sleep(0.2)
        super().stop(search_id)


class Elsewhere:
    """A practice server in a separate thread and loop, which a blocked loop of the test does not hold up."""

    def __init__(self, **room: Any) -> None:
        self.server = PracticeServer(ServerOptions(port=0, room=RoomOptions(**room)))
        self._begun = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> ServerAddress:
        self._thread.start()
        assert self._begun.wait(20)
        return ServerAddress(*self._address)

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    async def _run(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with self.server:
            self._address = self.server.address
            self._begun.set()
            await self._end.wait()


async def play(
    address: ServerAddress, name: str, searcher: ScriptedSearcher, game: str = "test-0-1", **more: Any
) -> Any:
    await searcher.open(Listener())
    options: dict[str, Any] = {"count": 1, **more}
    return await play_games_on_thread(
        Series(address, Login(name, f"{game},secret"), searcher, GameSettings(player=FAST), **options)
    )


@pytest.mark.slow
async def test_a_searcher_that_blocks_loses_no_game_on_time() -> None:
    with Elsewhere(max_moves=4) as address:
        seen: list[GameEvent] = []
        games = (play(address, "alice", Stuck(), observers=[seen.append]), play(address, "bob", ScriptedSearcher(None)))
        for (outcome,) in await asyncio.gather(*games):
            assert outcome.reason == "MAX_MOVES"
        moves = [event for event in seen if isinstance(event, MovePlayed)]
        assert [event.ply for event in moves] == [1, 2, 3, 4]


async def test_decisions_are_played_and_observers_hear_on_the_callers_thread() -> None:
    with Elsewhere(max_moves=6) as address:
        here = threading.get_ident()
        threads: list[int] = []
        searcher = ScriptedSearcher()
        game = "test-300-0"  # no move is late, however busy this machine is
        players = (
            play(address, "alice", searcher, game, observers=[lambda _: threads.append(threading.get_ident())]),
            play(address, "bob", BrokenSearcher(), game),
        )
        await asyncio.gather(*players)
        assert set(threads) == {here}
        assert searcher.games == 1
        assert len(searcher.requests) in (3, 4)  # it may begin to think before it hears of the end


class Divided(ScriptedSearcher):
    """Reports that its voters disagree, before it decides."""

    def start(self, request: SearchRequest, listener: SearchListener = SILENT) -> None:
        super().start(request, listener)
        for agreement in (1.0, 0.3):
            said = make_progress(request.search_id, 5, 3, 12, ("7g7f",), 100, agreement=agreement)
            asyncio.get_running_loop().call_soon(listener.on_progress, said)


async def test_all_orders_reach_the_searcher() -> None:
    with Elsewhere(max_moves=4) as address:
        searcher = Divided(delay_s=0.2)
        await asyncio.gather(
            play(address, "alice", searcher, "test-60-5F-B"), play(address, "bob", ScriptedSearcher(), "test-60-5F-W")
        )
        own = {request.search_id for request in searcher.requests}
        assert searcher.retimed and {number for number, _ in searcher.retimed} <= own
        assert searcher.stopped[-1:] == [searcher.pondered[-1].search_id], "pondering ends with the game"


async def test_a_search_that_is_refused_costs_no_time() -> None:
    """Ten seconds a move, and a searcher that cannot begin: the player is notified, and does not wait for the
    deadline."""
    with Elsewhere(max_moves=4) as address:
        games = (play(address, name, BrokenSearcher(), "test-0-10") for name in ("alice", "bob"))
        for (outcome,) in await asyncio.wait_for(asyncio.gather(*games), 8):
            assert outcome.reason == "MAX_MOVES"


async def test_a_thread_that_a_dead_disk_holds_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    released, held = threading.Event(), threading.Event()

    async def write(_stop: asyncio.Event) -> list[GameOutcome]:
        held.set()
        released.wait(30)
        return []

    monkeypatch.setattr(connection_thread, "LEAVE_S", 0.05)
    games = asyncio.create_task(connection_thread._ConnectionThread().run(write))
    await asyncio.to_thread(held.wait)
    games.cancel()
    with pytest.raises(asyncio.CancelledError), capture_logs() as logs:
        await games
    assert [entry["event"] for entry in logs] == ["connection_left_behind"]
    released.set()


async def test_errors_come_back() -> None:
    nowhere = ServerAddress("127.0.0.1", free_port())
    with pytest.raises(CsaConnectionError, match="refuses the connection"):
        await play(nowhere, "alice", ScriptedSearcher(), backoff=Backoff(first_s=0.01, attempts=2))
    with pytest.raises(LoginRefusedError):
        await play(nowhere, "not a name", ScriptedSearcher())
