"""The slots in which Ray runs nodes: each has a supervisor, a Ray actor, which is replaced when it ends. Also the
connection to Ray, which is made again when it is lost.

The nodes do not need Ray once they run: supervisors that Ray places after a loss adopt the nodes that they find.
"""

from __future__ import annotations

import asyncio
import pickle
import secrets
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Protocol

from cluster.api import FleetError
from cluster.drivers.fleet import node_name
from cluster.drivers.ray_cluster import ActorDied, RayFacts, RayRefused
from cluster.drivers.ray_process import RayLost, RayProcess
from cluster.node.process import NodeSpec

_LONGEST_PAUSE_S = 5.0
_OPENING_S = 150.0
"""Seconds for Ray to start; if it hangs, it is ended and started again."""


class Master(Protocol):
    """The master, as this module sees it."""

    def ray_found(self, facts: RayFacts) -> None:
        """Ray is there, for the first time or again; called before the first node is requested from it."""

    def ray_refused(self, why: str) -> None:
        """There is a Ray, but it refuses us."""

    def has_places(self, places: int) -> None:
        """This many slots have a machine now: more than `ray_found` reported if machines have joined."""

    def is_live(self, node_id: str) -> bool:
        """Whether messages of that node arrive."""

    def adopted(self, node_id: str) -> None:
        """A node that lived without a supervisor has one again."""

    def cannot_start(self, node_id: str, why: str) -> None:
        """Its machine cannot get the files that the node needs; it is tried again."""

    def spec(self, node_id: str, places: int, net: str | None) -> NodeSpec:
        """The spec of that node, on a machine with that number of slots and with the network at that path."""

    def net_of(self, node_id: str) -> str | None:
        """The network of that node, a path on the master's machine; None: it needs none."""

    def log(self, name: str, **fields: object) -> None: ...


class NodePlacement:
    """Keeps nodes running on a Ray cluster that is started, shrunk and grown elsewhere.

    It always requests one supervisor more than there are machines: that one waits, and so starts by itself on a machine
    that joins.

    Args:
        address: ``host:port`` or ``auto`` of the cluster.
        master: see `Master`.
    """

    def __init__(self, address: str, master: Master) -> None:
        self._master = master
        self._address = address
        self._run = secrets.token_hex(8)
        self._ray: RayProcess | None = None
        self._ray_is_there = asyncio.Event()
        self._kept: set[str] = set()
        """Nodes that have a supervisor."""
        self._places = 0
        self._waiting: set[int] = set()
        """Slots whose supervisors have not been placed yet."""
        self._tasks: list[asyncio.Task[None]] = []

    def open(self) -> None:
        """Begin; must be followed by `close`."""
        self._tasks.append(asyncio.ensure_future(self._keep_ray()))

    async def close(self) -> None:
        """End the supervisors, and with them the remaining nodes. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        ray, self._ray = self._ray, None
        if ray is not None:
            await ray.close()

    async def _keep_ray(self) -> None:
        pause_s = 0.25
        while True:
            began = time.monotonic()
            self._master.log("ray_starting", address=self._address)
            ray = self._ray = RayProcess(self._address)
            try:
                async with asyncio.timeout(_OPENING_S):
                    facts = await ray.open()
            except Exception as error:  # after any error, the next attempt may succeed
                self._master.log("ray_failed", why=str(error) or f"no answer for {_OPENING_S:.0f} s")
                if isinstance(error, RayRefused):
                    self._master.ray_refused(str(error))
                await ray.close()
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
                await asyncio.sleep(pause_s)
                continue
            pause_s = 0.25
            self._master.ray_found(facts)
            self._master.log("ray_started", pid=ray.pid, seconds=round(time.monotonic() - began, 1), **asdict(facts))
            self._ray_is_there.set()
            if not self._places:
                for _ in range(facts.capacity + 1):
                    self._keep_another()
            why = await ray.ended()
            self._ray_is_there.clear()
            self._master.log("ray_lost", why=why)
            await ray.close()

    def _keep_another(self) -> None:
        self._places += 1
        self._waiting.add(self._places)
        self._tasks.append(asyncio.ensure_future(self._keep(self._places)))

    async def _keep(self, place: int) -> None:
        """Keep one slot filled: a supervisor that ends is replaced, forever. Its nodes may change."""
        pause_s = 0.1
        while True:
            await self._ray_is_there.wait()
            assert self._ray is not None
            began = time.monotonic()
            try:
                await self._serve(place, self._ray)
            except RayLost:
                pass  # logged once, by the code that starts it again
            except ActorDied as error:
                self._master.log("supervisor_lost", place=place, why=str(error))
            self._waiting.add(place)
            pause_s = 0.1 if time.monotonic() - began > 10 else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _serve(self, place: int, ray: RayProcess) -> None:
        """Run a supervisor once. It does not watch its node: the channel does.

        Raises:
            ActorDied: it ended.
        """
        actor, node_id = await ray.ask("spawn", self._run), ""
        try:
            places = await ray.ask("placed", actor)
            # The next one need not wait for this machine's fork server, which may have to compile, or may fail.
            self._waiting.discard(place)
            self._master.has_places(self._places - len(self._waiting))
            if not self._waiting:
                self._keep_another()
            orphan = await ray.ask("orphan", actor)
            node_id = self._choose(orphan)
            self._kept.add(node_id)
            if node_id != orphan:
                self._master.log("node_starting", node=node_id)
            net = await self._lend_net(ray, actor, node_id)
            await ray.ask("keep", actor, node_id, pickle.dumps(self._master.spec(node_id, places, net)))
            if node_id == orphan:
                self._master.adopted(node_id)
            await ray.ask("watch", actor)
        except ActorDied:
            with suppress(ActorDied):
                await ray.ask("end", actor)
            raise
        finally:
            self._kept.discard(node_id)

    async def _lend_net(self, ray: RayProcess, actor: int, node_id: str) -> str | None:
        """The path of the node's network on its machine, which gets the network if it lacks it.

        Raises:
            ActorDied: it cannot get it.
        """
        path = self._master.net_of(node_id)
        if path is None:
            return None
        began = time.monotonic()
        try:
            there: str = await ray.ask("lend_net", actor, path)
        except FleetError as error:
            self._master.cannot_start(node_id, str(error))
            raise ActorDied(str(error)) from error
        self._master.log("net_there", node=node_id, path=there, seconds=round(time.monotonic() - began, 1))
        return there

    def _choose(self, orphan: str) -> str:
        """Choose the node for a slot: the one that is alive there, unless it is now alive elsewhere; else a new one,
        with the lowest free number."""
        if orphan and orphan not in self._kept:
            return orphan
        number = 1
        while node_name(number) in self._kept or self._master.is_live(node_name(number)):
            number += 1
        return node_name(number)
