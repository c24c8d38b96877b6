"""Sharing between the real nodes of a fleet: what one search found is in the other's table."""

from __future__ import annotations

import asyncio

import pytest

from cluster.api import SearchRequest
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.engine_spec import EngineSpec, FleetSpec, Variety
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from worker.shogi import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]


FLEET = FleetSpec((EngineSpec(hash_mb=16),), Variety(depths=True))


async def search(searcher: FleetSearcher, heard: Heard, number: int, soft_ms: int = 1500) -> None:
    heard.forget()
    searcher.start(SearchRequest(number, STARTPOS, soft_ms=soft_ms, hard_ms=10_000))
    await heard.decision(timeout_s=15)


def test_the_nodes_use_what_the_others_found() -> None:
    async def play() -> None:
        heard = Heard()

        def total(name: str) -> float:
            return sum(said[name] for said in heard.named("shared"))  # type: ignore[misc]

        searcher = FleetSearcher(
            nodes=3,
            engine=FLEET.build,
            fallback=endless_engine,
            settings=Settings(Mode.CONSULT, share_bytes_per_s=4_000_000),
        )
        await searcher.open(heard.listener())
        assert await searcher.whole(60) == 3
        try:
            await heard.until(lambda: any(event["listen_to"] == 2 for event in heard.named("sharing")))
            await search(searcher, heard, 1)
            # On a busy machine they do not all say so at once.
            await heard.until(lambda: total("nodes") == 3)
            assert total("entries_in") > 1000
            assert total("bytes_in_per_s") > 16 * 1000
            assert total("refused") == 0
            assert all(0 < said["used_share"] <= 1 for said in heard.named("shared"))  # type: ignore[operator]
        finally:
            await searcher.close()

    asyncio.run(play())
