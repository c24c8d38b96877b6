"""What a fleet's own machinery costs: nodes that search nothing, on real Ray, measured from the master.

    python -m benchmarks.overhead [--actors 2,8,32] [--rounds 40] [--json]

Each node's engine is a `PacedEngine`, which waits instead of searching and reports 20 times a second, so that what is
measured is the way between master and nodes and not who gets the processor. It counts microseconds of the machine's
clock as nodes: every report tells when it was made.

- ``start``: from `Searcher.start` to the moment at which the last node searches;
- ``deal``: from the coordinator's dealing of the split tree to the moment at which the last node searches its leaf;
- ``report``: from a node's engine to the master's coordinator;
- ``stop``: from `Searcher.stop` to the decision; ``quiet``: to the moment at which the last node has ended;
- ``ray call``, ``ray all``: the call of one bare actor of a cluster with as many of them, and of all of them at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.figures import Figures, machine, show
from cluster.api import Decision, Listener, SearchRequest
from cluster.events import FALLBACK
from cluster.messages import Done, Message, Report
from cluster.ray_driver import RaySearcher
from cluster.settings import Settings
from worker.engine import STARTPOS, Bound, InfoCallback, Limits, SearchInfo, SearchResult
from worker.shogi import Position, move_to_usi

_INTERVAL_S = 0.05
_LISTEN_S = 0.2
"""For so long reports are listened to in each round."""
_PATIENCE_S = 30.0


def now_us() -> int:
    """Microseconds of a clock that all processes of this machine share."""
    return time.monotonic_ns() // 1000


class PacedEngine:
    """An `Engine` that only says that it searches."""

    def __init__(self) -> None:
        self.name = "paced"
        self.can_split = True
        self._stop = threading.Event()
        self._moves: list[str] = []

    def new_game(self) -> None: ...

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        position = Position.from_sfen(sfen)
        position.push_all(moves)
        self._moves = [move_to_usi(move) for move in position.legal_moves()]
        self._stop.clear()

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        """Report at once, and then at intervals, until stopped or out of time."""
        allowed = [move for move in limits.searchmoves or self._moves if move not in limits.ignoremoves]
        end = None if limits.movetime_ms is None else time.monotonic() + limits.movetime_ms / 1000
        depth = 0
        while True:
            depth = min(depth + 1, 60)
            for rank, move in enumerate(allowed[: limits.multipv], 1):
                if on_info is not None:
                    on_info(SearchInfo(depth, depth, -rank, Bound.EXACT, now_us(), 1, 0, (move,), rank))
            left = _INTERVAL_S if end is None else min(_INTERVAL_S, end - time.monotonic())
            if left <= 0 or self._stop.wait(left):
                return SearchResult(allowed[0], None, now_us(), 1)

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None: ...


def paced_engine(*_: object) -> PacedEngine:
    """For other processes."""
    return PacedEngine()


@dataclass
class Watch:
    """Sees every message of the nodes before the coordinator does, and what the fleet says."""

    nodes: int
    came: list[tuple[int, Message]] = field(default_factory=list)
    """With the time at which it came, in microseconds."""
    dealt_us: int = 0
    decided_us: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def listener(self) -> Listener:
        return Listener(on_decision=self._on_decision, on_event=self._on_event)

    def tap(self, searcher: RaySearcher) -> None:
        channel = searcher._channel
        assert channel is not None
        pass_on = channel._on_message

        def take(peer: str, message: Message) -> None:
            self.came.append((now_us(), message))
            self._changed.set()
            pass_on(peer, message)

        channel._on_message = take

    def _on_decision(self, _decision: Decision) -> None:
        self.decided_us = now_us()
        self._changed.set()

    def _on_event(self, name: str, _fields: dict[str, object]) -> None:
        if name == "dealt":
            self.dealt_us = now_us()

    def forget(self) -> None:
        self.came.clear()
        self.dealt_us = self.decided_us = 0

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def of(self, kind: type[Report] | type[Done], job: int) -> list[int]:
        """When each node made its first message of that kind in its job ``job`` of this search, 0 for the first one."""
        first: dict[str, dict[int, int]] = {}
        for _, message in self.came:
            if isinstance(message, kind) and message.node_id != FALLBACK:
                first.setdefault(message.node_id, {}).setdefault(message.job_id, message.nodes)
        return [sorted(jobs.items())[job][1] for jobs in first.values() if len(jobs) > job]

    def all_have(self, kind: type[Report] | type[Done], job: int) -> bool:
        return len(self.of(kind, job)) == self.nodes


async def measure_fleet(nodes: int, rounds: int) -> dict[str, Figures]:
    """The figures of a fleet of so many nodes on this machine, in milliseconds."""
    figures = {name: Figures() for name in ("start", "deal", "report", "stop", "quiet")}
    settings = Settings(presearch_min_ms=30, presearch_max_ms=30)
    searcher = RaySearcher(nodes, engine=paced_engine, fallback=paced_engine, settings=settings, start_timeout_s=300)
    watch = Watch(nodes)
    await searcher.open(watch.listener())
    try:
        watch.tap(searcher)
        for number in range(1, rounds + 1):
            watch.forget()
            began = now_us()
            searcher.start(SearchRequest(number, STARTPOS, soft_ms=60_000, hard_ms=90_000))
            await watch.until(partial(watch.all_have, Report, 0))
            figures["start"].add((max(watch.of(Report, 0)) - began) / 1000)
            await watch.until(partial(watch.all_have, Report, 1))
            figures["deal"].add((max(watch.of(Report, 1)) - watch.dealt_us) / 1000)
            await asyncio.sleep(_LISTEN_S)
            for came, message in watch.came:
                if isinstance(message, Report):
                    figures["report"].add((came - message.nodes) / 1000)
            stopped = now_us()
            searcher.stop(number)
            await watch.until(lambda: watch.decided_us > 0)
            figures["stop"].add((watch.decided_us - stopped) / 1000)
            await watch.until(partial(watch.all_have, Done, 1))
            figures["quiet"].add((max(watch.of(Done, 1)) - stopped) / 1000)
    finally:
        await searcher.close()
    return figures


def measure_ray(actors: int, rounds: int) -> dict[str, Figures]:
    """The same for calls of bare Ray actors, on a cluster of this process's own."""
    import ray

    class Bare:
        def call(self) -> None: ...

    figures = {name: Figures() for name in ("ray call", "ray all")}
    with tempfile.TemporaryDirectory(prefix="gougi-bench-", ignore_cleanup_errors=True) as folder:
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        ray.init(address="local", num_cpus=0, object_store_memory=80 * 1024 * 1024, _temp_dir=folder, **quiet)
        try:
            bare: list[Any] = [ray.remote(num_cpus=0)(Bare).remote() for _ in range(actors)]
            ray.get([actor.call.remote() for actor in bare])
            for _ in range(rounds):
                began = now_us()
                ray.get(bare[0].call.remote())
                figures["ray call"].add((now_us() - began) / 1000)
                began = now_us()
                ray.get([actor.call.remote() for actor in bare])
                figures["ray all"].add((now_us() - began) / 1000)
        finally:
            ray.shutdown()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", default="2,8,32", help="numbers of nodes, with commas")
    parser.add_argument("--rounds", type=int, default=40, help="searches for each of them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    found: dict[str, dict[str, Figures]] = {}
    for nodes in map(int, options.actors.split(",")):
        fleet = asyncio.run(measure_fleet(nodes, options.rounds))
        # In a process of its own: Ray would go on in this one.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[f"{nodes} nodes"] = fleet | pool.apply(measure_ray, (nodes, options.rounds))
    if options.json:
        plain = {group: {name: one.facts() for name, one in rows.items()} for group, rows in found.items()}
        print(json.dumps({"unit": "ms", "machine": machine(), "figures": plain}, indent=2))
    else:
        show("milliseconds", found)


if __name__ == "__main__":
    main()
