"""A master as a separate program, for tests on another host: it opens a fleet at an address and obeys its input.

Reads JSON lines ``{"do": "start", …}``; writes JSON lines with each event and its time (``when_ms``: the machine's
monotonic clock, which all namespaces share). Ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from cluster.api import Decision, Listener, Progress, SearchListener, SearchRequest
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.drivers.host import now_ms
from cluster.engine_spec import EngineSpec, FleetSpec
from tests.cluster.engines import endless_engine
from worker.shogi import STARTPOS


def tell(what: str, **fields: object) -> None:
    print(json.dumps({"what": what, "when_ms": now_ms(), **fields}), flush=True)


def on_progress(progress: Progress) -> None:
    tell("progress", depth=progress.depth, busy=[view.node_id for view in progress.fleet if view.nodes and view.alive])


def on_decision(decision: Decision) -> None:
    tell("decision", **asdict(decision), score=decision.score, depth=decision.depth, pv=decision.pv)


def on_event(name: str, fields: dict[str, object]) -> None:
    tell(name, **fields)


async def main(address: str, net: str | None = None) -> None:
    """``net``: the nodes are searchers with that network."""
    fleet = FleetSpec((EngineSpec(hash_mb=1, threads=1, eval_file=net),))
    searcher = FleetSearcher(
        address=address,
        engine=None if net else endless_engine,
        fallback=endless_engine,
        settings=Settings(Mode.SPLIT, validate=True),
        kinds=fleet,
    )
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    try:
        await searcher.open(Listener(on_event, SearchListener(on_progress, on_decision)))
        tell("open")
        async for line in lines:
            order = json.loads(line)
            match order.pop("do"):
                case "start":
                    searcher.start(SearchRequest(sfen=STARTPOS, **order))
                case "stop":
                    searcher.stop(order["search_id"])
    finally:
        await searcher.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
