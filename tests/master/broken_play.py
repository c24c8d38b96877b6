"""``gougi play`` with a fleet that breaks: when the file ``broken`` is there, or in the first search.

``python -m tests.master.broken_play waiting|searching WORDS``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from cluster.api import SILENT, FleetError, Listener, SearchListener, SearchRequest
from gougi.__main__ import main
from master.commands import play_games
from tests.master.scripted import ScriptedSearcher

WHY = "no Ray cluster at 10.0.0.1:6379: its token is not ours (RAY_AUTH_TOKEN)"


class LateFault(ScriptedSearcher):
    """Breaks on demand."""

    def __init__(self, when: str) -> None:
        super().__init__(delay_s=0.1)
        self.when = when

    async def open(self, listener: Listener) -> None:
        if "GOUGI_CSA_PASSWORD" in os.environ:
            raise FleetError("the nodes would inherit the password")
        await super().open(listener)
        if self.when == "waiting":
            self.task = asyncio.ensure_future(self._break_when_told())

    def start(self, request: SearchRequest, listener: SearchListener = SILENT) -> None:
        super().start(request, listener)
        if self.when == "searching" and len(self.requests) == 1:
            self.listener.on_event("fleet_broken", {"why": WHY})

    async def _break_when_told(self) -> None:
        while not Path("broken").exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)
        self.listener.on_event("fleet_broken", {"why": WHY})


if __name__ == "__main__":
    late = LateFault(sys.argv.pop(1))
    vars(play_games)["make_fleet"] = lambda _settings, _metrics: late
    sys.argv.insert(1, "play")
    main()
