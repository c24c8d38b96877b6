"""The cost of a fleet's own machinery: nodes that search nothing, measured from the master.

    python -m benchmarks.overhead [--actors 2,8,32] [--rounds 40] [--json]

Each node's engine is a `PacedEngine`, which waits instead of searching and reports 20 times a second, so that the
benchmark measures the path between master and nodes, and not competition for the processor. It reports microseconds of
the machine's clock as nodes, so every report contains the time when it was made.

- ``start``: from `Searcher.start` to the moment at which the last node searches (not counted if one did not begin
  within the presearch, 300 ms);
- ``deal``: from the deal of the split tree to the moment at which the last node searches its leaf;
- ``report``: from a node's engine to the master's coordinator;
- ``stop``: from `Searcher.stop` to the decision; ``quiet``: to the moment at which the last node has ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.figures import Figures, machine, show
from benchmarks.paced import now_us, paced_engine
from cluster.api import Decision, Listener, SearchListener, SearchRequest
from cluster.coordination.events import FALLBACK
from cluster.coordination.settings import Mode, Settings, SharingSettings
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.network.messages import Done, Message, Report
from worker.shogi import STARTPOS

_LISTEN_S = 0.2
"""Seconds of each round during which reports are counted."""
_PATIENCE_S = 30.0


@dataclass
class Watch:
    """A listener that sees every message of the nodes before the coordinator does, and the fleet's events."""

    came: list[tuple[int, Message]] = field(default_factory=list)
    """Messages with their arrival times in microseconds."""
    dealt_us: int = 0
    dealt_to: frozenset[str] = frozenset()
    """The nodes with a leaf: there may be more nodes than moves."""
    decided_us: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def listener(self) -> Listener:
        return Listener(self._on_event, SearchListener(on_decision=self._on_decision))

    def tap(self, searcher: FleetSearcher) -> None:
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

    def _on_event(self, name: str, fields: dict[str, object]) -> None:
        if name == "dealt":
            leaves = fields["leaves"]
            assert isinstance(leaves, dict)
            self.dealt_us, self.dealt_to = now_us(), frozenset(leaves)

    def forget(self) -> None:
        self.came.clear()
        self.dealt_us = self.decided_us = 0
        self.dealt_to = frozenset()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def searching_since(self) -> list[int]:
        """The time at which each node began to search."""
        first: dict[str, int] = {}
        for _, message in self.came:
            if isinstance(message, Report) and message.node_id != FALLBACK:
                first.setdefault(message.node_id, message.nodes)
        return list(first.values())

    def leaf_since(self, last_job_id: int) -> list[int]:
        """The time at which each node with a leaf began to search it; ``last_job_id``: of the presearch."""
        first: dict[str, int] = {}
        for _, message in self.came:
            if isinstance(message, Report) and message.node_id in self.dealt_to and message.job_id > last_job_id:
                first.setdefault(message.node_id, message.nodes)
        return list(first.values())

    def ended(self, stopped_us: int) -> dict[str, int]:
        """The time at which each node with a leaf ended after the stop."""
        messages = [message for _, message in self.came if isinstance(message, Done) and message.nodes >= stopped_us]
        return {message.node_id: message.nodes for message in messages if message.node_id in self.dealt_to}


async def _measure_search(
    searcher: FleetSearcher, watch: Watch, number: int, nodes: int, figures: dict[str, Figures]
) -> None:
    """Add the figures of one search, in milliseconds."""
    watch.forget()
    began = now_us()
    searcher.start(SearchRequest(number, STARTPOS, soft_ms=60_000, hard_ms=90_000))
    assert searcher._host is not None
    presearch = searcher._host.coordinator.dispatch.last_job_id
    await watch.until(lambda: len(watch.searching_since()) == nodes or watch.dealt_us > 0)
    if len(watch.searching_since()) == nodes:
        figures["start"].add((max(watch.searching_since()) - began) / 1000)
    await watch.until(lambda: len(watch.leaf_since(presearch)) == len(watch.dealt_to) > 0)
    figures["deal"].add((max(watch.leaf_since(presearch)) - watch.dealt_us) / 1000)
    await asyncio.sleep(_LISTEN_S)
    for came, message in watch.came:
        if isinstance(message, Report):
            figures["report"].add((came - message.nodes) / 1000)
    stopped = now_us()
    searcher.stop(number)
    await watch.until(lambda: watch.decided_us > 0)
    figures["stop"].add((watch.decided_us - stopped) / 1000)
    await watch.until(lambda: len(watch.ended(stopped)) == len(watch.dealt_to))
    figures["quiet"].add((max(watch.ended(stopped).values()) - stopped) / 1000)


async def measure_fleet(nodes: int, rounds: int) -> dict[str, Figures]:
    """The figures of a fleet with this number of nodes on this machine, in milliseconds."""
    figures = {name: Figures() for name in ("start", "deal", "report", "stop", "quiet")}
    # No root searchers, so that every node gets a leaf; engines that wait have no tables to share.
    settings, sharing = Settings(mode=Mode.SPLIT, root_share=0), SharingSettings(depth=0)
    searcher = FleetSearcher(nodes, None, paced_engine, paced_engine, settings, sharing)
    watch = Watch()
    await searcher.open(watch.listener())
    try:
        await searcher.whole(300)
        watch.tap(searcher)
        for number in range(1, rounds + 1):
            await _measure_search(searcher, watch, number, nodes, figures)
    finally:
        await searcher.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", default="2,8,32", help="numbers of nodes, with commas")
    parser.add_argument("--rounds", type=int, default=40, help="searches for each of them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, dict[str, Figures]] = {}
    for nodes in map(int, options.actors.split(",")):
        print(f"{nodes} nodes", file=sys.stderr, flush=True)
        found[f"{nodes} nodes"] = asyncio.run(measure_fleet(nodes, options.rounds))
    if options.json:
        plain = {group: {name: one.facts() for name, one in rows.items()} for group, rows in found.items()}
        print(json.dumps({"unit": "ms", "machine": machine(), "figures": plain}, indent=2))
    else:
        show("milliseconds", found)


if __name__ == "__main__":
    main()
