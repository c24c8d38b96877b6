"""A player's process that is stopped in the middle of a game: its record agrees with the server's result."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from rsshogi.record import Record

from master.commands.common import INTERRUPTED
from master.practice.server import PracticeServer, ServerOptions
from tests.master.csa.peer import Peer
from tests.master.player_process import GAME

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(("number", "moves_in_time"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
async def test_a_signal_in_a_game_is_a_loss(tmp_path: Path, number: signal.Signals, moves_in_time: bool) -> None:
    """The signal comes on the opponent's turn; the opponent moves at once, or only after the player is gone."""
    ends: list[str] = []
    server_folder = tmp_path / "server"
    async with PracticeServer(ServerOptions(port=0, record_folder=server_folder)) as server:
        peer = await Peer.connect(server.address)
        peer.say(f"LOGIN peer {GAME}")
        address = "{}:{}".format(*server.address)
        command = [sys.executable, "-m", "tests.master.player_process", address, "alice", str(tmp_path / "alice")]
        player = await asyncio.create_subprocess_exec(*command)
        await peer.until("END Game_Summary")
        peer.say("AGREE")
        await peer.until("START:")
        peer.say("+7776FU")
        await peer.until("-")
        player.send_signal(number)
        await asyncio.sleep(0.3)
        if moves_in_time:
            peer.say("+2726FU")
        assert await player.wait() == INTERRUPTED
        if not moves_in_time:
            peer.say("+2726FU")
        ends = [await peer.until(start) for start in ("%", "#", "#")]
        await peer.connection.close()
    (servers,) = server.record_paths.values()
    assert ends == ["%TORYO", "#RESIGN", "#WIN"]
    (path,) = (tmp_path / "alice").glob("*.csa")
    ours, theirs = (Record.from_csa_file(str(file)) for file in (path, servers))
    assert ours.result.is_black_win()
    assert theirs.result.is_black_win()
    assert (ours.move_count, theirs.move_count) == (3 if moves_in_time else 2, 3)
    assert ("left on the opponent's turn" in (ours.main_terminal.comment or "")) == (not moves_in_time)
