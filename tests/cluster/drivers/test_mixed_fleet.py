"""Different engines in one fleet, on real Ray: our own searcher and gpsusi decide by vote."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal

import pytest

from cluster.api import Decision, SearchRequest
from cluster.coordination.settings import Mode, Settings, SharingSettings
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.engine_spec import EngineSpec, FleetSpec, UsiSpec
from cluster.machine.processes import all_processes
from tests.cluster.heard import Heard
from worker.shogi import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.usefixtures("warm")]


def installed() -> str:
    path = shutil.which("gpsusi", path="/usr/games:/usr/bin:/usr/local/bin")
    if path is None:
        pytest.skip("gpsusi is not installed (Debian: apt install gpsshogi)")
    return path


async def test_our_searcher_and_gpsusi_decide_by_vote() -> None:
    """Then gpsusi is killed in the middle of a search: that search continues without it, a later one with it."""
    # gpsusi would end `go infinite` at depth 4, often after 30 ms.
    usi = UsiSpec((installed(),), (("LimitDepth", "10"), ("Thread", "1")))
    fleet = FleetSpec((EngineSpec(hash_mb=4), usi))
    settings, sharing = Settings(Mode.CONSULT, validate=True), SharingSettings(depth=0)
    searcher, heard = FleetSearcher(nodes=2, engine=fleet.build, settings=settings, sharing=sharing), Heard()

    async def search(number: int, *, kill: int | None = None) -> Decision:
        heard.forget()
        # A position that gpsusi knows from an earlier search can be at its last depth before the kill.
        moves = ("7g7f",) if kill is None else ("2g2f",)
        searcher.start(SearchRequest(number, STARTPOS, moves, soft_ms=3000, hard_ms=8000))
        if kill is not None:
            await asyncio.sleep(0.5)
            for pid in [one.pid for one in all_processes() if one.parent == kill]:
                os.kill(pid, signal.SIGKILL)
        decision = await heard.decision(timeout_s=20)
        assert decision.source == "vote"
        assert decision.move in {ballot.move for ballot in decision.ballots}
        return decision

    await searcher.open(heard.listener())
    assert await searcher.whole(60) == 2
    try:
        pids = {str(found["engine"]): int(str(found["pid"])) for found in heard.named("node_ready")}
        gps = next(pid for engine, pid in pids.items() if engine.startswith("gpsshogi"))
        assert not heard.named("sharing"), "it is switched off"
        assert len((await search(1)).ballots) == 2
        assert not heard.named("shared")
        await heard.until(lambda: bool(heard.named("searched")), 10)  # gpsusi too has ended
        await search(2, kill=gps)
        assert len(heard.named("job_failed")) == 1
        # It restarts within a search; a busy machine may need several searches for it (10 s were seen).
        number = 3
        while len((await search(number)).ballots) < 2:
            number += 1
            assert number < 15
    finally:
        await searcher.close()
