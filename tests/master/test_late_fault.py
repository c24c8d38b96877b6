"""A permanent fault ends `gougi play` even if it is noticed late: at once, or after the running game."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster.api import FleetError, Listener
from master.analysis.plan import plan, searches
from master.analysis.session import Pace, Session
from master.analysis.store import PositionStore
from master.csa.login import ServerAddress
from master.game.driver import play_game
from master.player.instructions import Login
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomNote, RoomOptions
from tests.master.analysis.records import game
from tests.master.broken_play import WHY
from tests.master.command import environment
from tests.master.scripted import ScriptedSearcher

GAME = "floodgate-60-5F"


def player(when: str, address: Sequence[object], folder: Path, game_name: str = GAME) -> subprocess.Popen[str]:
    """``gougi play``, for ten games."""
    where = ":".join(map(str, address))
    words = ("--server", where, "--game", game_name, "--name", "alice", "--games", "10", "--plain")
    return subprocess.Popen(
        [sys.executable, "-m", "tests.master.broken_play", when, *words],
        cwd=folder,
        env=environment(folder, {"GOUGI_CSA_PASSWORD": "secret"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = await asyncio.to_thread(process.communicate, None, 100)
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_while_a_game_is_waited_for(tmp_path: Path) -> None:
    logged_in = asyncio.Event()

    def tell(note: RoomNote) -> None:
        if note.event == "login":
            logged_in.set()

    async with PracticeServer(ServerOptions(port=0), tell) as server:
        process = player("waiting", server.address, tmp_path)
        await asyncio.wait_for(logged_in.wait(), 100)
        (tmp_path / "broken").touch()
        code, out, err = await end_of(process)
    assert code == 1
    assert err.splitlines()[-1] == f"gougi: {WHY}"
    assert "result for" not in out


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_game_that_runs_is_played_to_its_end(tmp_path: Path) -> None:
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=6))) as server:
        process = player("searching", server.address, tmp_path)
        searcher = ScriptedSearcher()
        await searcher.open(Listener())
        await play_game(ServerAddress(*server.address), Login("bob", f"{GAME},x"), searcher)
        code, out, err = await end_of(process)
    assert code == 1
    assert f"error: fleet_broken why={WHY!r}" in err
    assert err.splitlines()[-1] == f"gougi: {WHY}"
    assert "result for alice" in out and "6 moves" in out and out.count("result for") == 1


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_another_game_than_was_asked_for_is_rejected(tmp_path: Path) -> None:
    async with PracticeServer(ServerOptions(port=0)) as server:
        process = player("waiting", server.address, tmp_path, "denryu-2025")
        searcher = ScriptedSearcher()
        await searcher.open(Listener())
        await play_game(ServerAddress(*server.address), Login("bob", "default-1500-0,x"), searcher)
        code, _, err = await end_of(process)
    assert code == 2
    assert "asked for the game denryu-2025, and the server offers default-1500-0; rejected" in err


async def test_an_analysis_ends_and_keeps_its_results(tmp_path: Path) -> None:
    searched = game()

    class Breaks(ScriptedSearcher):
        def stop(self, search_id: int) -> None:
            super().stop(search_id)
            assert self.choose is not None
            self._decide(self.requests[-1], self.choose)

    searcher = Breaks(choose=None)
    positions = searches(plan(searched))
    with PositionStore(tmp_path / "p.db") as store:
        async with Session(searcher, [store], Pace(nodes=100), lambda: "s") as session:
            task = asyncio.ensure_future(session.search(searched, positions, lambda _found, _kept: None))
            while not searcher.requests:  # noqa: ASYNC110 - a task is waited for
                await asyncio.sleep(0)
            searcher._decide(searcher.requests[0], ScriptedSearcher().choose)
            while len(searcher.requests) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0)
            searcher.choose = ScriptedSearcher().choose
            searcher.listener.on_event("fleet_broken", {"why": WHY})
            with pytest.raises(FleetError, match="its token is not ours"):
                await task
        assert len(searcher.requests) == 2
        assert [store.get("s", searched.start_sfen, moves) is None for moves in positions[:2]] == [False, True]
