"""Latencies of a local fleet of two nodes, measured from the master: ``python -m tests.cluster.measure [ROUNDS]``.

- ``ray call``: a call of an actor that does nothing, for comparison.
- ``job``: a job of depth 1 given, its `Done` received (numba engine): twice the way, and the search's own overhead.
- ``stop``: `Stop` sent in the middle of a search, its `Done` received.
- ``begin``: `Searcher.start` called, the first report of every node received.
- ``decision``: `Searcher.stop` called, the decision delivered.
- ``deadline``: how long after its soft time a decision came.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from cluster.api import SearchRequest
from cluster.events import FALLBACK
from cluster.messages import Done, Job, Message, Report, Stop
from cluster.ray_driver import RaySearcher
from tests.cluster.heard import Heard
from worker.engine import STARTPOS


class Tap:
    """Sees every message of the nodes before the searcher does."""

    def __init__(self, searcher: RaySearcher) -> None:
        channel = searcher._channel
        assert channel is not None
        self._pass_on, channel._on_message = channel._on_message, self._take
        self._heard: list[Message] = []
        self._changed = asyncio.Event()

    def _take(self, peer: str, message: Message) -> None:
        self._heard.append(message)
        self._changed.set()
        self._pass_on(peer, message)

    async def until(self, condition: Callable[[list[Message]], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition(self._heard):
                self._changed.clear()
                await self._changed.wait()
        self._heard.clear()


def both_report(search_id: int, seen: list[Message]) -> bool:
    """Whether both nodes have reported on that search."""
    reports = [message for message in seen if isinstance(message, Report) and message.search_id == search_id]
    return len({report.node_id for report in reports} - {FALLBACK}) == 2


def show(name: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:10} p50 {statistics.median(ordered) * 1000:7.2f} ms   p99 {p99 * 1000:7.2f} ms   n {len(ordered)}")


async def main(rounds: int) -> None:
    searcher, heard = RaySearcher(), Heard()
    await searcher.open(heard.listener())
    try:
        tap = Tap(searcher)
        await measure(searcher, heard, tap, rounds)
    finally:
        await searcher.close()


async def measure(searcher: RaySearcher, heard: Heard, tap: Tap, rounds: int) -> None:
    clock = time.perf_counter
    cluster = searcher._cluster
    times: list[float] = []
    for _ in range(rounds):
        began = clock()
        await cluster.ready(cluster._actors[0])
        times.append(clock() - began)
    show("ray call", times)

    number, jobs, stops = 10_000_000, [], []
    for _ in range(rounds):
        number += 1
        began = clock()
        searcher.send("node-1", Job(0, number, STARTPOS, depth=1))
        await tap.until(lambda seen: any(isinstance(message, Done) for message in seen))
        jobs.append(clock() - began)
        number += 1
        searcher.send("node-1", Job(0, number, STARTPOS, movetime_ms=5000))
        await tap.until(lambda seen: any(isinstance(message, Report) for message in seen))
        began = clock()
        searcher.send("node-1", Stop(number))
        await tap.until(lambda seen: any(isinstance(message, Done) for message in seen))
        stops.append(clock() - began)
    show("job", jobs)
    show("stop", stops)

    # The coordinator's own jobs must be newer than those above for a node to take them.
    assert searcher._host is not None
    searcher._host.coordinator.orders.last_job_id = number
    begins, decisions, deadlines = [], [], []
    for index in range(1, rounds + 1):
        heard.forget()
        began = clock()
        searcher.start(SearchRequest(index, STARTPOS, soft_ms=5000, hard_ms=9000))
        await tap.until(partial(both_report, index))
        begins.append(clock() - began)
        began = clock()
        searcher.stop(index)
        await heard.decision()
        decisions.append(clock() - began)
    for index in range(rounds + 1, rounds + 1 + rounds // 4):
        heard.forget()
        began = clock()
        searcher.start(SearchRequest(index, STARTPOS, soft_ms=450, hard_ms=900))
        await heard.decision()
        deadlines.append(clock() - began - 0.45)
    show("begin", begins)
    show("decision", decisions)
    show("deadline", deadlines)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
