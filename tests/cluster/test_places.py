"""Ray is started again, whatever goes wrong with that; over a Ray that is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cluster import places as places_module
from cluster.api import FleetError
from cluster.places import Places
from cluster.ray_cluster import NodeDied, RayFacts

FACTS = RayFacts("10.0.0.1", 0, "10.0.0.1:6379", {}, "")


async def opens() -> RayFacts:
    return FACTS


async def is_refused() -> RayFacts:
    raise FleetError("no Ray cluster at 10.0.0.1:6379: refused")


async def has_no_process() -> RayFacts:
    raise BlockingIOError(11, "Resource temporarily unavailable")


async def has_no_word_for_it() -> RayFacts:
    raise NodeDied("[Errno 28] No space left on device")


async def hangs() -> RayFacts:
    await asyncio.Event().wait()
    raise AssertionError


class FakeRay:
    """One life of Ray's process, as `cluster.ray_process.RayProcess`."""

    lives: list[FakeRay]
    fates: list[Callable[[], Awaitable[RayFacts]]]

    def __init__(self, address: str | None, nodes: int) -> None:
        self.pid = len(self.lives) + 1
        self.closed = False
        self.open = self.fates[len(self.lives)]
        self.over = asyncio.Event()
        self.lives.append(self)

    async def ended(self) -> str:
        await self.over.wait()
        return "its raylet died"

    async def close(self) -> None:
        self.closed = True


class Log:
    """A `cluster.places.Keeper`."""

    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []
        self.whole = asyncio.Event()

    def node_gone(self, peer: str, reason: str) -> None:
        raise AssertionError(peer)

    node_failed = node_gone

    def log(self, name: str, **fields: object) -> None:
        self.said.append((name, fields.get("why", fields.get("pid"))))
        if self.said.count(("ray_started", 6)):
            self.whole.set()


def test_ray_is_started_until_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeRay.lives, FakeRay.fates = [], [opens, is_refused, has_no_process, has_no_word_for_it, hangs, opens]
    monkeypatch.setattr(places_module, "RayProcess", FakeRay)
    monkeypatch.setattr(places_module, "_LONGEST_PAUSE_S", 0.01)
    monkeypatch.setattr(places_module, "_OPENING_S", 0.05)
    log = Log()

    async def play() -> None:
        places = Places("10.0.0.1:6379", 1, log)
        await places.open()
        places.fill(lambda _node_id: pytest.fail("no node is there to be made"), -1)  # not even the one that waits
        FakeRay.lives[0].over.set()
        async with asyncio.timeout(10):
            await log.whole.wait()
        await places.close()

    asyncio.run(play())
    assert log.said == [
        ("ray_started", 1),
        ("ray_lost", "its raylet died"),
        ("ray_failed", "no Ray cluster at 10.0.0.1:6379: refused"),
        ("ray_failed", "[Errno 11] Resource temporarily unavailable"),
        ("ray_failed", "[Errno 28] No space left on device"),
        ("ray_failed", "no answer for 0 s"),
        ("ray_started", 6),
    ]
    assert all(life.closed for life in FakeRay.lives)
