"""Faults of the nodes of an `OpenFleet`, for the fault matrix. Each is real: signals and cut connections.

A fault is an async context manager. It prepares before it yields; then `Fault.strike` causes the fault at once. At its
exit everything is restored, or comes back by itself.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from tests.cluster.open_fleet import OpenFleet


@dataclass(frozen=True)
class Fault:
    strike: Callable[[], None]
    loses: tuple[str, ...] = ()
    """The nodes that are lost by it."""
    because: str = ""
    """Part of the logged reason of each loss."""
    told: tuple[tuple[str, dict[str, object]], ...] = ()
    """Other logged events, with some of their fields."""

    async def explained(self, fleet: OpenFleet) -> None:
        """Wait until the log has the cause."""
        for node in self.loses:
            assert self.because in str((await fleet.event("node_lost", node=node))["reason"])
        for name, fields in self.told:
            await fleet.event(name, **fields)


MakeFault = Callable[[OpenFleet], AbstractAsyncContextManager[Fault]]


@asynccontextmanager
async def kill(fleet: OpenFleet) -> AsyncIterator[Fault]:
    victim = fleet.nodes[0]
    yield Fault(lambda: os.kill(fleet.pid(victim), signal.SIGKILL), (victim,), "its process died")


@asynccontextmanager
async def all_dead(fleet: OpenFleet) -> AsyncIterator[Fault]:
    victims = fleet.nodes

    def strike() -> None:
        for victim in victims:
            os.kill(fleet.pid(victim), signal.SIGKILL)

    yield Fault(strike, tuple(victims), "its process died")


@asynccontextmanager
async def stand_still(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """SIGSTOP, later SIGCONT."""
    victim = fleet.nodes[0]
    pid = fleet.pid(victim)
    try:
        yield Fault(lambda: os.kill(pid, signal.SIGSTOP), (victim,), "not heard of")
    finally:
        os.kill(pid, signal.SIGCONT)
    await fleet.there(lambda: victim in fleet.nodes)


@asynccontextmanager
async def cut(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """The cable is pulled out, and put back later."""
    victim = fleet.nodes[0]
    pid = fleet.pid(victim)
    yield Fault(lambda: fleet.proxy.cut(pid), (victim,), "not heard of")
    fleet.proxy.mend(pid)
    await fleet.there(lambda: victim in fleet.nodes)


@asynccontextmanager
async def leave(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """The node is told to end, and says goodbye."""
    victim = fleet.nodes[0]
    goodbye: tuple[str, dict[str, object]] = ("node_leaves", {"node": victim, "why": "SIGTERM"})
    yield Fault(lambda: os.kill(fleet.pid(victim), signal.SIGTERM), (victim,), "leaves: SIGTERM", (goodbye,))


FAULTS: dict[str, MakeFault] = {
    "kill -9": kill,
    "SIGSTOP": stand_still,
    "cut": cut,
    "leave": leave,
    "all nodes dead": all_dead,
}
