"""The places where nodes run: one Ray actor in each, replaced when it ends; and Ray itself, replaced when lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from cluster.host import now_ms
from cluster.node_process import NodeSpec
from cluster.ray_cluster import NodeDied, RayFacts
from cluster.ray_process import RayLost, RayProcess

_LONGEST_PAUSE_S = 5.0
_OPENING_S = 120.0
"""How long Ray may take to be there again; one that hangs is ended, and another is tried. Seen on a busy machine: 20 s.
"""


def _node_id(place: int) -> str:
    return f"node-{place}"


def place_of(node_id: str) -> int:
    """Which place a node has, 1 for the first: it keeps its number through all its lives."""
    return int(node_id.removeprefix("node-"))


class Keeper(Protocol):
    """Who is told."""

    def node_gone(self, peer: str, reason: str) -> None:
        """That life of a node is over."""

    def node_failed(self, node_id: str, why: str) -> None:
        """A node's process ended before it could search."""

    def log(self, name: str, **fields: object) -> None: ...


class Places:
    """Keeps nodes running, on a cluster of our own or on one that others start, shrink and grow.

    In the latter one actor more than there are machines is asked for, always: it waits, and so starts by itself on a
    machine that joins.

    Args:
        address: ``host:port`` or ``auto`` of a cluster that runs; None: start one on this machine.
        nodes: nodes of a cluster of our own; elsewhere what its machines offer is used.
    """

    def __init__(self, address: str | None, nodes: int, keeper: Keeper) -> None:
        self.local = address is None
        self._keeper = keeper
        self._address = address
        self._nodes = nodes
        self._ray = RayProcess(address, nodes)
        self._ray_is_there = asyncio.Event()
        self._spec: Callable[[str], NodeSpec] | None = None
        self._actors: dict[str, int] = {}
        """By node id: the actor that is in its place now."""
        self._places = 0
        self._waiting: set[str] = set()
        """Node ids whose actors were asked for and are not ready yet."""
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> RayFacts:
        """Start Ray, or connect to it; `close` is due afterwards, also where it failed.

        Raises:
            FleetError: that failed; the text says why.
        """
        facts = await self._ray.open()
        self._started(facts)
        return facts

    def fill(self, spec: Callable[[str], NodeSpec], count: int) -> None:
        """Keep ``count`` nodes from now on. ``spec``: what a node of that id needs to know."""
        self._spec = spec
        self._tasks.append(asyncio.ensure_future(self._keep_ray()))
        for _ in range(count if self.local else count + 1):
            self._keep_another()

    async def restart(self, node_id: str) -> None:
        """End that node's process; another takes its place."""
        with contextlib.suppress(NodeDied):
            if node_id in self._actors:
                await self._ray.end(self._actors[node_id])

    async def close(self) -> None:
        """End the nodes and, where it is our own, Ray. More than once does no harm."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._ray.close()

    def _started(self, facts: RayFacts) -> None:
        self._ray_is_there.set()
        self._keeper.log("ray_started", pid=self._ray.pid, **asdict(facts))

    async def _keep_ray(self) -> None:
        while True:
            why = await self._ray.ended()
            self._ray_is_there.clear()
            self._keeper.log("ray_lost", why=why)
            pause_s = 0.25
            while not self._ray_is_there.is_set():
                try:
                    await self._ray.close()
                    self._ray = RayProcess(self._address, self._nodes)
                    async with asyncio.timeout(_OPENING_S):
                        facts = await self._ray.open()
                except Exception as error:  # whatever it was, the next attempt may be better
                    self._keeper.log("ray_failed", why=str(error) or f"no answer for {_OPENING_S:.0f} s")
                    pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
                    await asyncio.sleep(pause_s)
                else:
                    self._started(facts)

    def _keep_another(self) -> None:
        self._places += 1
        node_id = _node_id(self._places)
        self._waiting.add(node_id)
        self._tasks.append(asyncio.ensure_future(self._keep(node_id)))

    async def _keep(self, node_id: str) -> None:
        """One node's place: an actor that ends is replaced, for ever."""
        pause_s = 0.1
        while True:
            await self._ray_is_there.wait()
            began = now_ms()
            self._waiting.add(node_id)
            self._keeper.log("node_starting", node=node_id)
            try:
                await self._live(node_id, self._ray)
            except RayLost:
                pass  # said once, by who starts it again
            except NodeDied as error:
                self._keeper.log("node_failed", node=node_id, why=str(error))
            pause_s = 0.1 if now_ms() - began > 10_000 else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _live(self, node_id: str, ray: RayProcess) -> None:
        """One life of a node.

        Raises:
            RayLost: Ray is gone. Nodes of a cluster of our own are then gone too; others are, as long as they are heard
                of, still of use.
        """
        assert self._spec is not None
        actor = self._actors[node_id] = await ray.spawn(self._spec(node_id))
        incarnation = ""
        try:
            incarnation = await ray.ready(actor)
            self._waiting.discard(node_id)
            if not self._waiting and not self.local:
                self._keep_another()
            await ray.watch(actor)
        except NodeDied as error:
            lost = isinstance(error, RayLost)
            if incarnation and (self.local or not lost):
                self._keeper.node_gone(f"{node_id}/{incarnation}", str(error))
            elif not incarnation and not lost:
                self._keeper.log("node_failed", node=node_id, why=str(error))
                self._keeper.node_failed(node_id, str(error))
        await ray.end(actor)
