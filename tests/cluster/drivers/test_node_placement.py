"""Ray is started until it is there, and its supervisors adopt the live nodes; over a fake Ray."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from cluster.api import FleetError
from cluster.drivers import node_placement
from cluster.drivers.node_placement import NodePlacement
from cluster.drivers.ray_cluster import ActorDied, RayFacts, RayRefused
from cluster.drivers.ray_process import RayLost
from cluster.network.channel import ChannelAddress
from cluster.node.process import NodeSpec
from tests.cluster.engines import endless_engine
from tests.waiting import until

ADDRESS = "10.0.0.1:6379"


async def opens() -> None:
    pass


async def refuses_us() -> None:
    raise RayRefused("its token is not ours")


async def is_not_there() -> None:
    raise FleetError("no Ray cluster at 10.0.0.1:6379: refused")


async def has_no_process() -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


async def has_no_word_for_it() -> None:
    raise ActorDied("[Errno 28] No space left on device")


async def hangs() -> None:
    await asyncio.Event().wait()


class FakeRay:
    """One incarnation of Ray's process, as `cluster.drivers.ray_process.RayProcess`, with so many machines."""

    lives: list[FakeRay]
    fates: list[Callable[[], Awaitable[None]]]
    machines = 0
    orphans: list[str]
    """Live nodes without a supervisor."""
    faults: list[str]
    """Errors of the next supervisors' calls; the supervisors live."""
    full_disks: list[str]
    """Errors when the next networks are to be kept."""
    nets: list[str | None]
    """The paths of the networks of the kept nodes."""

    def __init__(self, address: str) -> None:
        self.pid = len(self.lives) + 1
        self.closed = False
        self.fate = self.fates[len(self.lives)]
        self.over = asyncio.Event()
        self.free = asyncio.Semaphore(self.machines)
        self.kept: dict[int, str] = {}
        self.actors = 0
        self.held: set[int] = set()
        """Supervisors that have a slot."""
        self.dying: dict[int, asyncio.Event] = {}
        self.lives.append(self)

    async def open(self) -> RayFacts:
        await self.fate()
        return RayFacts("10.0.0.1", self.machines, ADDRESS)

    async def ask(self, method: str, *arguments: object) -> Any:
        return await getattr(self, method)(*arguments)

    async def spawn(self, _run: str) -> int:
        self.actors += 1
        self.dying[self.actors] = asyncio.Event()
        return self.actors

    async def placed(self, actor: int) -> int:
        await self._until_over(self.free.acquire())
        self.held.add(actor)
        return 1

    async def orphan(self, _actor: int) -> str:
        if self.faults:
            raise ActorDied(self.faults.pop())
        return self.orphans.pop(0) if self.orphans else ""

    async def lend_net(self, _actor: int, path: str) -> str:
        if self.full_disks:
            raise FleetError(self.full_disks.pop())
        return f"/there{path}"

    async def keep(self, actor: int, node_id: str, spec: bytes) -> None:
        assert pickle.loads(spec).node_id == node_id
        self.nets.append(pickle.loads(spec).engine.keywords["net"])
        self.kept[actor] = node_id

    async def watch(self, actor: int) -> None:
        with contextlib.suppress(RayLost):
            await self._until_over(self.dying[actor].wait())
        node_id = self.kept.pop(actor)
        self.orphans.append(node_id)
        if self.over.is_set():
            raise RayLost("its raylet died")
        self.held.discard(actor)
        self.free.release()
        raise ActorDied("its process died")

    async def _until_over(self, what: Coroutine[Any, Any, object]) -> None:
        both = [asyncio.ensure_future(one) for one in (what, self.over.wait())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
        if self.over.is_set():
            raise RayLost("its raylet died")

    async def end(self, actor: int) -> None:
        if actor in self.held:
            self.held.discard(actor)
            self.free.release()

    async def ended(self) -> str:
        await self.over.wait()
        return "its raylet died"

    async def close(self) -> None:
        self.closed = True


class Log:
    """A `cluster.drivers.node_placement.Master`."""

    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []
        self.live: set[str] = set()
        self.back: list[str] = []
        self.places = 0
        self.net: str | None = None

    def has_places(self, places: int) -> None:
        self.places = max(self.places, places)

    def ray_found(self, facts: RayFacts) -> None:
        self.said.append(("found", facts.host))

    def ray_refused(self, why: str) -> None:
        self.said.append(("refused", why))

    def is_live(self, node_id: str) -> bool:
        return node_id in self.live

    def adopted(self, node_id: str) -> None:
        self.back.append(node_id)

    def cannot_start(self, node_id: str, why: str) -> None:
        self.said.append(("failed", f"{node_id}: {why}"))

    def net_of(self, _node_id: str) -> str | None:
        return self.net

    def spec(self, node_id: str, _places: int, net: str | None) -> NodeSpec:
        return NodeSpec(node_id, ChannelAddress("tcp://127.0.0.1:1", b"", b"", b""), partial(endless_engine, net=net))

    def log(self, name: str, **fields: object) -> None:
        self.said.append((name, fields.get("why", fields.get("pid", fields.get("node", "")))))

    def named(self, name: str) -> list[object]:
        return [what for said, what in self.said if said == name]


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeRay.lives, FakeRay.fates, FakeRay.orphans, FakeRay.faults, FakeRay.machines = [], [], [], [], 0
    FakeRay.full_disks, FakeRay.nets = [], []
    monkeypatch.setattr(node_placement, "RayProcess", FakeRay)
    monkeypatch.setattr(node_placement, "_LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(node_placement, "_OPENING_S", 0.05)


async def test_ray_is_started_until_it_is_there() -> None:
    """At the first start and at later ones."""
    FakeRay.fates = [is_not_there, opens, refuses_us, has_no_process, has_no_word_for_it, hangs, opens]
    log = Log()
    supervisor = NodePlacement(ADDRESS, log)
    supervisor.open()
    await until(lambda: log.named("ray_started") == [2])
    FakeRay.lives[1].over.set()
    await until(lambda: log.named("ray_started") == [2, 7])
    await supervisor.close()
    assert log.named("ray_lost") == ["its raylet died"]
    assert log.named("refused") == ["its token is not ours"]
    assert log.named("ray_failed") == [
        "no Ray cluster at 10.0.0.1:6379: refused",
        "its token is not ours",
        "[Errno 11] Resource temporarily unavailable",
        "[Errno 28] No space left on device",
        "no answer for 0 s",
    ]
    assert all(life.closed for life in FakeRay.lives)


async def test_a_place_takes_no_number_of_a_node_that_lives_elsewhere() -> None:
    """A raylet is gone and its node lives on: a new node on another machine needs another number."""
    FakeRay.fates, FakeRay.machines = [opens], 1
    log = Log()
    supervisor = NodePlacement(ADDRESS, log)
    supervisor.open()
    await until(lambda: FakeRay.lives and FakeRay.lives[0].kept)
    (ray,) = FakeRay.lives
    log.live = {"node-1"}
    ray.free = asyncio.Semaphore(0)
    ray.dying[1].set()
    await until(lambda: log.named("supervisor_lost"))
    lost = ray.orphans.pop()
    ray.free.release()  # another machine
    await until(lambda: ray.kept)
    assert list(ray.kept.values()) == ["node-2"]
    # The first machine is back with its node, but meanwhile the master has given that number to another node.
    ray.free = asyncio.Semaphore(0)
    await supervisor.close()
    assert supervisor._choose(lost) == "node-1"
    supervisor._kept.add("node-1")
    assert supervisor._choose(lost) == "node-2"


async def _until_a_node_is_kept(log: Log) -> None:
    supervisor = NodePlacement(ADDRESS, log)
    supervisor.open()
    await until(lambda: FakeRay.lives and FakeRay.lives[0].kept)
    await supervisor.close()


async def test_a_supervisor_whose_call_fails_gives_its_place_back() -> None:
    FakeRay.fates, FakeRay.machines, FakeRay.faults = [opens], 1, ["no fork server"]
    log = Log()
    await _until_a_node_is_kept(log)
    assert log.named("supervisor_lost") == ["no fork server"]


async def test_a_node_begins_when_its_machine_has_its_network() -> None:
    """A failed copy is tried again, and the master gets the reason."""
    FakeRay.fates, FakeRay.machines, FakeRay.full_disks = [opens], 1, ["no space left on the disk"]
    log = Log()
    log.net = "/nets/nn.bin"
    await _until_a_node_is_kept(log)
    assert log.named("failed") == ["node-1: no space left on the disk"]
    assert log.named("net_there") == ["node-1"]
    assert FakeRay.nets == ["/there/nets/nn.bin"]
