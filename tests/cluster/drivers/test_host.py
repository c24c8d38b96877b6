"""The host's timer: a deadline that passes while an event is handled is not missed."""

from __future__ import annotations

import asyncio

import pytest

from cluster.api import Decision, Listener, PonderSearch, SearchListener, SearchRequest, StartSearch
from cluster.coordination.events import NodeJoined
from cluster.coordination.settings import Settings
from cluster.drivers import host as host_module
from cluster.drivers.host import CoordinatorHost
from cluster.network.messages import Job, NewGame, Stop
from worker.shogi import STARTPOS


class Nowhere:
    """A transport whose nodes never answer."""

    def send(self, node_id: str, order: Job | Stop | NewGame) -> None:
        pass


async def test_each_search_reports_to_its_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "now_ms", lambda: 1_000_000)
    first: list[int] = []
    second: list[int] = []
    fleet: list[int] = []

    def into(heard: list[int]) -> SearchListener:
        return SearchListener(on_decision=lambda decision: heard.append(decision.search_id))

    host = CoordinatorHost(Settings(), Nowhere(), Listener(searches=into(fleet)))
    host.handle(NodeJoined("node-1"))
    host.begin(StartSearch(SearchRequest(1, STARTPOS, soft_ms=100, hard_ms=500)), into(first))
    for refused in (1, 0):  # an id that does not rise
        with pytest.raises(ValueError, match="search id"):
            host.begin(StartSearch(SearchRequest(refused, STARTPOS, soft_ms=100, hard_ms=500)), into(second))
    host.begin(StartSearch(SearchRequest(2, STARTPOS, soft_ms=100, hard_ms=500)), into(second))  # decides the first
    assert (first, second) == ([1], [])
    host.begin(PonderSearch(SearchRequest(3, STARTPOS)), SearchListener())
    assert (first, second, fleet) == ([1], [2], [1, 2])
    host.close()


async def test_a_deadline_that_passes_while_an_event_is_handled_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000]
    decisions: list[Decision] = []
    monkeypatch.setattr(host_module, "now_ms", lambda: clock[0])
    host = CoordinatorHost(Settings(), Nowhere(), Listener())
    host.handle(NodeJoined("node-1"))

    def slow_now() -> int:
        # Between the two readings of the clock within `handle`, the loop was held up for ten seconds.
        clock[0] += 10_000
        return clock[0]

    monkeypatch.setattr(host_module, "now_ms", slow_now)
    request = SearchRequest(1, STARTPOS, soft_ms=100, hard_ms=500)
    host.begin(StartSearch(request), SearchListener(on_decision=decisions.append))
    for _ in range(20):
        await asyncio.sleep(0.005)
    host.close()
    assert [decision.search_id for decision in decisions] == [1]
