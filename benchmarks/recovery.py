"""The time that a fleet on this machine needs to be complete again after each kind of loss.

    python -m benchmarks.recovery [--nodes 3] [--rounds 5] [--load 8] [--fault node --fault fork-server …] [--json]

An endless search runs all the time. The faults:

- ``node``, ``nodes``: SIGKILL to one node, to all; until all have joined the search again;
- ``fork-server``: SIGKILL to it; until the next one answers.

``lost`` is the number of nodes that the search lost besides the killed ones: 0 is correct. ``start`` gives the times
until a search could begin, and until all nodes had joined. Faults of Ray are in `tests.cluster.drivers.test_ray_head`
and `tests.cluster.drivers.test_ray_hosts`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from benchmarks.figures import busy, machine
from cluster.api import Listener, SearchRequest
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.node.fork_server_link import fork_server_name, holder
from worker.shogi import STARTPOS

_PATIENCE_S = 300.0
_SETTLED_S = 4.0
"""Seconds before a fault: a node killed within 3 s of its start is replaced only after a pause."""


class Fleet:
    """An open fleet and its events."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.searcher = FleetSearcher(nodes)
        self.events: list[tuple[float, str, dict[str, object]]] = []
        self._news = asyncio.Event()

    async def open(self) -> dict[str, float]:
        began = time.monotonic()
        await self.searcher.open(Listener(on_event=self._hear))
        begun = time.monotonic() - began
        self.searcher.start(SearchRequest(1, STARTPOS))
        whole = await self.until(self.is_whole, began)
        return {"begins": begun, "whole": whole}

    def _hear(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((time.monotonic(), name, fields))
        self._news.set()

    def named(self, name: str, since: float = 0.0) -> list[dict[str, Any]]:
        return [fields for when, said, fields in self.events if said == name and when >= since]

    def is_whole(self) -> bool:
        return sum(node_id.startswith("node-") for node_id in self.searcher.live) == self.nodes

    def pids(self) -> list[int]:
        last = {str(said["node"]): int(said["pid"]) for said in self.named("node_ready")}
        return [pid for node_id, pid in sorted(last.items()) if node_id != "fallback"]

    async def until(self, condition: Callable[[], bool], since: float) -> float:
        """The seconds from ``since`` until a condition holds."""
        async with asyncio.timeout(_PATIENCE_S):
            while not condition():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.02)
        return time.monotonic() - since


def _send(pids: list[int]) -> None:
    assert pids, "there is no such process"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


async def _node(fleet: Fleet, since: float) -> tuple[float, int]:
    _send(fleet.pids()[:1])
    return await _back(fleet, since, 1)


async def _nodes(fleet: Fleet, since: float) -> tuple[float, int]:
    _send(fleet.pids())
    return await _back(fleet, since, fleet.nodes)


async def _back(fleet: Fleet, since: float, count: int) -> tuple[float, int]:
    took = await fleet.until(lambda: len(fleet.named("node_joined", since)) >= count and fleet.is_whole(), since)
    return took, len(fleet.named("node_lost", since)) - count


async def _fork_server(fleet: Fleet, since: float) -> tuple[float, int]:
    fork_server = fleet.searcher._fork_server
    assert fork_server is not None
    name = fork_server_name(fork_server.run)
    before = holder(name)
    assert before is not None
    _send([before])
    took = await fleet.until(lambda: holder(name) not in (None, before), since)
    return took, len(fleet.named("node_lost", since))


FAULTS: dict[str, Callable[[Fleet, float], Any]] = {
    "node": _node,
    "nodes": _nodes,
    "fork-server": _fork_server,
}


async def measure(nodes: int, rounds: int, faults: list[str]) -> dict[str, Any]:
    """The figures, in seconds: ``start``, and for each fault the duration of each recovery and the number of lost
    nodes."""
    fleet = Fleet(nodes)
    results: dict[str, Any] = {}
    try:
        results["start"] = await fleet.open()
        for name in faults:
            took, lost = [], 0
            for _ in range(rounds):
                await fleet.until(fleet.is_whole, time.monotonic())
                await asyncio.sleep(_SETTLED_S)
                seconds, more = await FAULTS[name](fleet, time.monotonic())
                took.append(seconds)
                lost += more
            results[name] = {"seconds": took, "lost": lost}
            typer.echo(f"{name}: {', '.join(f'{seconds:.1f}' for seconds in took)} s", err=True)
    finally:
        await fleet.searcher.close()
    return results


def main(
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="Node processes.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="How often each fault strikes.")] = 5,
    load: Annotated[int, typer.Option(min=0, metavar="N", help="Processes that do nothing but compute.")] = 0,
    fault: Annotated[list[str] | None, typer.Option(help=f"One of: {', '.join(FAULTS)}. Default: all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Measure the time until a fleet on this machine is whole again, after each kind of loss."""
    chosen = fault or list(FAULTS)
    if unknown := [name for name in chosen if name not in FAULTS]:
        raise typer.BadParameter(f"{unknown[0]!r}: expected one of {', '.join(FAULTS)}", param_hint="--fault")
    with busy(load):
        results = asyncio.run(measure(nodes, rounds, chosen))
        average = os.getloadavg()[0]
    if as_json:
        typer.echo(json.dumps({"machine": machine(), "nodes": nodes, "load": average, **results}))
        return
    typer.echo(f"{machine()}; {nodes} nodes; load {average:.1f} in the end")
    start = results.pop("start")
    typer.echo(f"start: a search begins after {start['begins']:.1f} s, whole {start['whole']:.1f}")
    typer.echo(f"{'fault':18}  {'median':>7}  {'worst':>7}  lost")
    for name, found in results.items():
        seconds = found["seconds"]
        typer.echo(f"{name:18}  {statistics.median(seconds):5.1f} s  {max(seconds):5.1f} s  {found['lost']:4}")


if __name__ == "__main__":
    typer.run(main)
