"""A fleet in a Ray cluster that somebody else started, and that grows while it searches."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.api import FleetError, SearchRequest
from cluster.ray_cluster import _TOKEN
from cluster.ray_driver import RaySearcher
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from worker.engine import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90), pytest.mark.usefixtures("warm")]

ROOT = Path(__file__).parents[2]


def test_a_host_that_joins_late_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", _TOKEN)
    hosts = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.ray_hosts"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert hosts.stdin is not None
    assert hosts.stdout is not None
    address = hosts.stdout.readline().strip()
    assert address

    async def play() -> None:
        heard = Heard()
        searcher = RaySearcher(address=address, engine=endless_engine, fallback=endless_engine)
        await searcher.open(heard.listener())
        try:
            await heard.until(lambda: "node-1" in searcher.live)
            assert "node-2" not in searcher.live
            searcher.start(SearchRequest(1, STARTPOS, soft_ms=20_000, hard_ms=30_000))
            assert hosts.stdin is not None
            hosts.stdin.write("join\n")
            hosts.stdin.flush()
            await heard.until(lambda: "node-2" in searcher.live, 25)
            await heard.until(lambda: any(len(progress.fleet) == 2 for progress in heard.progress))
            searcher.stop(1)
            decision = await heard.decision()
            assert {view.node_id for view in decision.fleet} == {"node-1", "node-2"}
        finally:
            await searcher.close()

    asyncio.run(play())
    hosts.stdin.close()
    assert hosts.wait(20) == 0


def test_no_cluster_at_the_address() -> None:
    async def play() -> None:
        for address, why in (("127.0.0.1:1", "onnect"), ("nowhere", "expected host:port")):
            with pytest.raises(FleetError, match=f"no Ray cluster at {address}: .*{why}"):
                await RaySearcher(address=address).open(Heard().listener())

    asyncio.run(play())
