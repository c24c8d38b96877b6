"""A player in a separate process, which a test can kill or stop: one game on a server, with a scripted searcher.

``python -m tests.master.player_process HOST:PORT NAME RECORDS``. Ends as ``gougi play`` does: 130 after a signal.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cluster.api import Listener
from master.commands.common import INTERRUPTED
from master.commands.lifetime import Interrupted, run_to_end
from master.csa.login import ServerAddress
from master.game.connection_thread import play_games_on_thread
from master.game.driver import GameSettings
from master.game.loop import Series
from master.player.instructions import Login
from tests.master.scripted import ScriptedSearcher

GAME = "floodgate-60-5F,secret"


async def main(address: str, name: str, records: str) -> None:
    searcher = ScriptedSearcher(delay_s=0.05)
    await searcher.open(Listener())
    settings = GameSettings(record_folder=Path(records))
    await play_games_on_thread(Series(ServerAddress.parse(address), Login(name, GAME), searcher, settings, count=1))


if __name__ == "__main__":
    try:
        run_to_end(lambda: main(*sys.argv[1:]))
    except Interrupted:
        sys.exit(INTERRUPTED)
