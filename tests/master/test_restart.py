"""The player is killed in the middle of a game and started again, as systemd does it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from cluster.api import Listener
from master.csa.login import ServerAddress
from master.game.loop import Series, play_games
from master.player.instructions import Login
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.master.player_process import GAME
from tests.master.scripted import ScriptedSearcher

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def records(folder: Path) -> set[Path]:
    return set(folder.glob("*.csa"))


def moves(record: Path) -> int:
    return sum(line[:1] in "+-" and len(line) >= 7 for line in record.read_text().splitlines())


async def test_it_logs_in_for_the_next_game_and_the_record_of_the_last_one_stays(tmp_path: Path) -> None:
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=24))) as server:
        searcher = ScriptedSearcher(delay_s=0.05)
        await searcher.open(Listener())
        login = Login("opponent", GAME)
        opponent = asyncio.create_task(play_games(Series(ServerAddress(*server.address), login, searcher, count=2)))
        address = "{}:{}".format(*server.address)
        command = [sys.executable, "-m", "tests.master.player_process", address, "alice", str(tmp_path)]
        first = await asyncio.create_subprocess_exec(*command)
        while not any(moves(path) >= 6 for path in records(tmp_path)):  # noqa: ASYNC110 - a file is waited for
            await asyncio.sleep(0.02)
        first.kill()
        await first.wait()
        (cut_short,) = records(tmp_path)
        second = await asyncio.create_subprocess_exec(*command)
        assert await second.wait() == 0
        outcomes = await opponent
    assert [outcome.played for outcome in outcomes] == [True, True]
    (other,) = records(tmp_path) - {cut_short}
    assert 6 <= moves(cut_short) < 24
    assert moves(other) == 24
