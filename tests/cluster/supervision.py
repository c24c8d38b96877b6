"""Supervision in virtual time: the real `NodePlacement`, `Fleet` and coordinator, on simulated machines, fork servers,
supervisors and Ray, from a seed. A minute costs some tenths of a second; the same seed gives the same faults.

Real are all decisions: which nodes are requested, adopted, numbered, superseded, dealt again. Simulated are the
duration of each step and the time of each death.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

from cluster.api import FleetError
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import NodeLost, Received, Tick
from cluster.coordination.settings import Settings
from cluster.drivers import node_placement
from cluster.drivers.fleet import Change, Fleet
from cluster.drivers.node_placement import NodePlacement
from cluster.drivers.ray_cluster import ActorDied, RayFacts
from cluster.drivers.ray_process import RayLost
from cluster.network.channel import ChannelAddress
from cluster.network.messages import Begun, Done, Hello, Report
from cluster.node.process import NodeSpec
from tests.cluster.engines import endless_engine
from tests.cluster.storm import Storm, root_of
from tests.cluster.virtual_loop import VirtualLoop
from worker.engine import Bound

_STEP_S = 0.05
_ACTORS = 100_000
"""More than the number of Ray's restarts."""


@dataclass
class Node:
    """A node's process under its fork server, and its next incarnations."""

    node_id: str
    supervisor: int | None = None
    life: int = 0
    """Counts its processes."""
    alive: bool = False
    serves: bool = False
    ended: bool = False
    """It was told to end for ever."""

    @property
    def peer(self) -> str:
        return f"{self.node_id}/{self.life}"


@dataclass
class Machine:
    name: str
    up: bool = True
    """Started by Ray. Its nodes survive its end."""
    frozen_until: float = 0.0
    """It sends nothing and receives nothing: stopped, or cut off."""
    supervisor: int | None = None
    nodes: dict[str, Node] = field(default_factory=dict)


class World:
    """A `cluster.drivers.node_placement.Master`, and its whole surroundings."""

    def __init__(self, seed: int, machines: int) -> None:
        self.rng = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        self.fleet = Fleet()
        self.storm = Storm(Coordinator(Settings(validate=True)))
        self.machines = [Machine(f"m{number}") for number in range(machines)]
        self.ray: VirtualRay | None = None
        self.asked: dict[str, int] = {}
        """The supervisor that was told to keep each node."""
        self.rays = itertools.count(1)
        self.ray_fails = 0
        """The number of next attempts that fail."""
        self.happened: set[str] = set()
        self.said: list[str] = []
        self.failed: list[BaseException] = []
        """Errors of the tasks."""
        self._lives = 0
        self._tasks: set[asyncio.Task[None]] = set()

    # `cluster.drivers.node_placement.Master`

    def ray_found(self, facts: RayFacts) -> None:
        self.said.append("ray_found")

    def has_places(self, places: int) -> None:
        pass

    def net_of(self, node_id: str) -> None:
        pass

    def spec(self, node_id: str, _places: int, _net: str | None) -> NodeSpec:
        return NodeSpec(node_id, ChannelAddress("tcp://127.0.0.1:1", b"", b"", b""), endless_engine)

    def cannot_start(self, node_id: str, why: str) -> None:
        raise AssertionError(f"{node_id}: {why}")

    def ray_refused(self, why: str) -> None:
        raise AssertionError(why)

    def is_live(self, node_id: str) -> bool:
        return self.fleet.peer(node_id) is not None

    def adopted(self, node_id: str) -> None:
        self.said.append("adopted")

    def log(self, name: str, **fields: object) -> None:
        self.said.append(name)

    # The nodes

    @property
    def now_ms(self) -> int:
        return round(self.loop.time() * 1000)

    def apply(self, changes: list[Change]) -> None:
        self.storm.now = self.now_ms
        for change in changes:
            if isinstance(change, NodeLost):
                self.storm.jobs.pop(change.node_id, None)
            self.storm.feed(change)

    def start(self, machine: Machine, node: Node) -> None:
        """The fork server forks it."""
        if not node.alive and not node.ended:
            self._lives += 1
            node.life, node.alive, node.serves = self._lives, True, False
            self._begin(self._live(machine, node, self._lives))

    def kill(self, machine: Machine, node: Node, again: bool = True) -> None:
        """Its process ends; its fork server forks another."""
        node.alive = node.serves = False
        node.ended |= not again
        if again:
            self.loop.call_later(self.rng.uniform(0.01, 0.2), self.start, machine, node)
        else:
            machine.nodes.pop(node.node_id, None)

    async def _live(self, machine: Machine, node: Node, life: int) -> None:
        """One incarnation of a node: its messages to the master."""
        await self._heard(machine)
        if node.life == life and node.alive:
            self.apply(self.fleet.began(Begun(node.node_id, str(life))))
        await asyncio.sleep(self.rng.uniform(0.05, 3.0))
        await self._heard(machine)
        if node.life != life or not node.alive:
            return
        node.serves = True
        hello = Hello(node.node_id, str(life), machine.name, life, "e")
        self.apply(self.fleet.said_hello(hello, self.now_ms))
        while node.alive and node.life == life:
            await asyncio.sleep(0.2)
            await self._heard(machine)
            if not node.alive or node.life != life:
                return
            if self.fleet.is_superseded(node.peer):
                self.kill(machine, node, again=False)  # the master says `End`
                return
            self.apply(self.fleet.heard(node.peer, self.now_ms))
            if self.fleet.peer(node.node_id) == node.peer:
                self._report(node)

    async def _heard(self, machine: Machine) -> None:
        while (left_s := machine.frozen_until - self.loop.time()) > 0:  # noqa: ASYNC110 - it may freeze again
            await asyncio.sleep(left_s + 0.001)

    def _report(self, node: Node) -> None:
        job = self.storm.jobs.get(node.node_id)
        if job is None:
            return
        legal = root_of(job.sfen, job.moves).legal
        moves = job.searchmoves or [move for move in legal if move not in job.ignoremoves]
        if not moves or self.rng.random() < 0.2:
            self.storm.feed(Received(Done(node.node_id, job.search_id, job.job_id, 1000, 200)))
            return
        depth, score = self.rng.randrange(1, 30), self.rng.randrange(-300, 300)
        pv = (self.rng.choice(list(moves)),)
        head = (node.node_id, job.search_id, job.job_id, depth, depth, score, Bound.EXACT)
        self.storm.feed(Received(Report(*head, 1000, 200, 0, pv)))

    # Time

    async def keep_time(self) -> None:
        """The master's own loop: it checks for silent nodes, and drives its coordinator's timers."""
        while True:
            await asyncio.sleep(_STEP_S)
            self.apply(self.fleet.expire(self.now_ms))
            wake = self.storm.coordinator.wake_ms(self.now_ms)
            while wake is not None and wake <= self.now_ms:
                self.storm.feed(Tick())
                wake = self.storm.coordinator.wake_ms(self.now_ms + 1)

    async def search(self) -> None:
        """Searches with times, one after the other: each has one legal decision, in time (`Storm`)."""
        while True:
            self.storm.now = self.now_ms
            if self.storm.running is None:
                soft = self.rng.choice([300, 2000, 6000])
                self.storm.start_timed(self.rng, soft, soft + 500)
            await asyncio.sleep(0.3)

    # Faults

    def strike(self) -> None:
        """One fault, during any other."""
        machine = self.rng.choice(self.machines)
        fault = self.rng.choice(
            [
                self._node_dies,
                self._node_dies,
                self._supervisor_dies,
                self._raylet_dies,
                self._ray_dies,
                self._freezes,
                self._cut_off,
                self._cut_off,
                self._joins,
                self._goes,
            ]
        )
        self.happened.add(fault.__name__.removeprefix("_"))
        fault(machine)

    def _node_dies(self, machine: Machine) -> None:
        for node in list(machine.nodes.values()):
            if node.alive:
                self.kill(machine, node)

    def _supervisor_dies(self, machine: Machine) -> None:
        if self.ray is not None and machine.supervisor is not None:
            self.ray.end_supervisor(machine.supervisor)

    def _raylet_dies(self, machine: Machine) -> None:
        """Its supervisor dies too; the raylet is back after a while, the node lives all the time."""
        self._supervisor_dies(machine)
        machine.up = False
        self.loop.call_later(self.rng.uniform(1.0, 6.0), setattr, machine, "up", True)

    def _ray_dies(self, _machine: Machine) -> None:
        self.ray_fails = self.rng.choice([0, 0, 1, 3])
        if self.ray is not None:
            self.ray.die()

    def _freezes(self, machine: Machine) -> None:
        machine.frozen_until = self.loop.time() + self.rng.uniform(0.1, 5.0)

    def _cut_off(self, machine: Machine) -> None:
        """Ray loses it, and so does the master; another machine may take its slot before it is back with its node."""
        seconds = self.rng.uniform(1.0, 15.0)
        self._raylet_dies(machine)
        machine.frozen_until = self.loop.time() + seconds
        if self.rng.random() < 0.7:
            self.loop.call_later(self.rng.uniform(0.0, seconds), self._joins, machine)

    def _joins(self, _machine: Machine) -> None:
        if len(self.machines) < 9:
            self.machines.append(Machine(f"m{self._lives}-{len(self.machines)}"))

    def _goes(self, machine: Machine) -> None:
        """It goes for ever, with everything on it."""
        if len(self.machines) > 2:
            self.machines.remove(machine)
            self._supervisor_dies(machine)
            for node in list(machine.nodes.values()):
                self.kill(machine, node, again=False)
            machine.up = False

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def over(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                self.failed.append(error)

        task.add_done_callback(over)

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Invariants

    def whole(self) -> list[str]:
        """Describe each defect of the fleet some time after the last fault; empty: the fleet is whole."""
        wrong = []
        for machine in self.machines:
            living = [node for node in machine.nodes.values() if node.alive]
            if len(living) != 1:
                wrong.append(f"{machine.name} has {[node.node_id for node in living]}")
            for node in living:
                if self.fleet.peer(node.node_id) != node.peer:
                    wrong.append(f"{node.peer} on {machine.name} is not the fleet's: {self.fleet.peer(node.node_id)}")
                if node.supervisor is None:
                    wrong.append(f"{node.node_id} on {machine.name} has no supervisor")
        if len(self.fleet.live) != len(self.machines):
            wrong.append(f"{len(self.machines)} machines, and these nodes: {self.fleet.live}")
        return wrong


class VirtualRay:
    """One incarnation of Ray's process, as `cluster.drivers.ray_process.RayProcess` has it."""

    world: World

    def __init__(self, _address: str) -> None:
        self.pid = self._number = next(self.world.rays)
        self._over = asyncio.Event()
        self._actors = 0
        self._dead: set[int] = set()
        self._at: dict[int, Machine] = {}

    async def open(self) -> RayFacts:
        world = self.world
        await asyncio.sleep(world.rng.uniform(0.2, 4.0))
        if world.ray_fails:
            world.ray_fails -= 1
            raise FleetError("no Ray cluster")
        world.ray = self
        return RayFacts("10.0.0.1", sum(machine.up for machine in world.machines), "10.0.0.1:6379")

    async def ask(self, method: str, *arguments: object) -> Any:
        return await getattr(self, method)(*arguments)

    async def spawn(self, _run: str) -> int:
        await self._takes(0.001, 0.05)
        self._actors += 1
        return self._actors

    async def placed(self, actor: int) -> int:
        """Wait for a machine without a supervisor."""
        while True:
            await self._takes(0.02, 0.3, actor)
            for machine in self.world.machines:
                if machine.up and machine.supervisor is None:
                    machine.supervisor = self._key(actor)
                    self._at[actor] = machine
                    return 1

    async def orphan(self, actor: int) -> str:
        """Adopt a node of its machine that has no supervisor."""
        await self._takes(0.05, 1.0, actor)
        for node in self._at[actor].nodes.values():
            if node.supervisor is None:
                node.supervisor = self._key(actor)
                return node.node_id
        return ""

    async def keep(self, actor: int, node_id: str, spec: bytes) -> None:
        assert pickle.loads(spec).node_id == node_id
        assert node_id not in self.world.asked, f"two supervisors for {node_id}"
        self.world.asked[node_id] = self._key(actor)
        await self._takes(0.001, 0.02, actor)
        machine, own = self._at[actor], self._key(actor)
        for node in list(machine.nodes.values()):
            if node.supervisor == own and node.node_id != node_id:
                elsewhere = self.world.asked.get(node.node_id)
                assert elsewhere not in (None, own), f"{node.node_id} lived, and had to go for {node_id}"
                self.world.kill(machine, node, again=False)
        node = machine.nodes.setdefault(node_id, Node(node_id))
        node.supervisor = own
        self.world.start(machine, node)

    async def watch(self, actor: int) -> None:
        while True:
            await self._takes(0.02, 0.05, actor)

    async def end(self, actor: int) -> None:
        self._release(actor)

    async def ended(self) -> str:
        await self._over.wait()
        return "its raylet died"

    async def close(self) -> None:
        self.die()

    def end_supervisor(self, key: int) -> None:
        self._dead.add(actor := key % _ACTORS)
        self._release(actor)

    def die(self) -> None:
        self._over.set()
        if self.world.ray is self:
            self.world.ray = None
        for actor in list(self._at):
            self._release(actor)

    def _release(self, actor: int) -> None:
        asked = self.world.asked
        for node_id in [node_id for node_id, key in asked.items() if key == self._key(actor)]:
            del asked[node_id]
        machine = self._at.pop(actor, None)
        if machine is not None:
            machine.supervisor = None
            for node in machine.nodes.values():
                if node.supervisor == self._key(actor):
                    node.supervisor = None

    def _key(self, actor: int) -> int:
        return self._number * _ACTORS + actor

    async def _takes(self, least_s: float, most_s: float, actor: int = 0) -> None:
        """Go on after a while, if Ray and the actor live then."""
        await asyncio.sleep(self.world.rng.uniform(least_s, most_s))
        if self._over.is_set():
            raise RayLost("its raylet died")
        if actor in self._dead:
            raise ActorDied("its process died")


@contextmanager
def _in_virtual_time(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    with (
        mock.patch.object(node_placement, "RayProcess", VirtualRay),
        mock.patch.object(node_placement, "time", SimpleNamespace(monotonic=loop.time)),
    ):
        yield


def _none_failed(world: World) -> None:
    for error in world.failed:
        raise error


def _still_run(*tasks: asyncio.Task[None]) -> None:
    """None of these ever ends by itself; the error of one that did is raised."""
    for task in tasks:
        assert not task.done() or task.result(), "a task has ended"


async def _storm(seed: int, faults: int, patience_s: float) -> World:
    world = VirtualRay.world = World(seed, machines=random.Random(seed).randrange(2, 7))

    with _in_virtual_time(asyncio.get_running_loop()):
        supervisor = NodePlacement("10.0.0.1:6379", world)
        supervisor.open()
        running = [asyncio.ensure_future(world.keep_time()), asyncio.ensure_future(world.search())]
        try:
            for _ in range(faults):
                await asyncio.sleep(world.rng.choice([0.0, 0.05, 0.5, 3.0, 10.0]))
                world.strike()
                _still_run(*running, *supervisor._tasks)
                _none_failed(world)
            deadline = asyncio.get_running_loop().time() + patience_s
            while wrong := world.whole():
                _still_run(*running, *supervisor._tasks)
                _none_failed(world)
                assert asyncio.get_running_loop().time() < deadline, f"seed {seed}: {wrong}"
                await asyncio.sleep(0.5)
            await asyncio.sleep(5)
            _none_failed(world)
            assert not world.whole(), f"seed {seed}: {world.whole()}"
        finally:
            for task in running:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*running)
            await supervisor.close()
            await world.end()
    return world


def storm(seed: int, faults: int = 30, patience_s: float = 60.0) -> World:
    """One run with so many faults; afterwards the fleet must be whole within ``patience_s`` of virtual time.

    Raises:
        AssertionError: an invariant is broken; the text names the seed.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_storm(seed, faults, patience_s))
