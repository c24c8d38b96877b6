"""A player in a process of its own, which a test can kill: one game on a server, with a scripted searcher.

``python -m tests.master.player_process HOST:PORT NAME RECORDS``
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from cluster.api import Listener
from master.game import GameSettings, ServerAddress
from master.game_loop import play_games
from master.instructions import Login
from tests.master.scripted import ScriptedSearcher

GAME = "floodgate-60-5F,secret"


async def main(address: str, name: str, records: str) -> None:
    searcher, listener = ScriptedSearcher(delay_s=0.05), Listener()
    await searcher.open(listener)
    settings = GameSettings(record_folder=Path(records))
    await play_games(ServerAddress.parse(address), Login(name, GAME), searcher, listener, settings, count=1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
