"""The host's timer: what becomes due while an event is handled is not passed over."""

from __future__ import annotations

import asyncio
import gc

import pytest

from cluster.api import Decision, Listener, SearchRequest
from cluster.coordination.events import NodeJoined, Start
from cluster.coordination.settings import Settings
from cluster.drivers import host as host_module
from cluster.drivers.host import CoordinatorHost, spare_the_collector
from cluster.network.messages import Job, NewGame, Stop
from worker.shogi import STARTPOS


def test_what_stays_is_out_of_the_collectors_rounds() -> None:
    """In this process thousands of objects are loaded code; a full round must not look at them in mid-game."""
    gc.unfreeze()  # by another test
    before = len(gc.get_objects())
    spare_the_collector()
    try:
        assert before > 10_000
        assert len(gc.get_objects()) < before / 10
    finally:
        gc.unfreeze()


class Nowhere:
    """A transport whose nodes never answer."""

    def send(self, node_id: str, order: Job | Stop | NewGame) -> None:
        pass


def test_a_deadline_that_passes_while_an_event_is_handled_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000]
    decisions: list[Decision] = []

    async def scenario() -> None:
        listener = Listener(on_decision=decisions.append)
        host = CoordinatorHost(Settings(), Nowhere(), listener)
        host.handle(NodeJoined("node-1"))

        def slow_now() -> int:
            # Between the two looks at the clock within `handle` the loop was held up for ten seconds.
            clock[0] += 10_000
            return clock[0]

        monkeypatch.setattr(host_module, "now_ms", slow_now)
        host.handle(Start(SearchRequest(1, STARTPOS, soft_ms=100, hard_ms=500)))
        for _ in range(20):
            await asyncio.sleep(0.005)
        host.close()

    monkeypatch.setattr(host_module, "now_ms", lambda: clock[0])
    asyncio.run(scenario())
    assert [decision.search_id for decision in decisions] == [1]
