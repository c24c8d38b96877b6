"""Faults of the nodes of an `OpenFleet`, for the fault matrix. Each is real: signals, cables, processes, peers.

A fault is an async context manager. Before it yields, all that it needs is there; then `Fault.strike` makes it happen,
at once; afterwards all is as it was, or comes back by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from cluster.node.process import NodeSpec
from tests.cluster.engines import endless_engine
from tests.cluster.open_fleet import OpenFleet
from tests.cluster.rubbish import Liar

LATE_S = 1.2


@dataclass(frozen=True)
class Fault:
    strike: Callable[[], None]
    loses: tuple[str, ...] = ()
    """The nodes that are lost by it."""
    because: str = ""
    """Part of the reason that the log gives for each of them."""
    told: tuple[tuple[str, dict[str, object]], ...] = ()
    """Other events that the log then has, with some of their fields."""

    async def explained(self, fleet: OpenFleet) -> None:
        """Wait until the log says what happened."""
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
async def late(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """Delay a node's messages: it counts as silent for some time, and then as one that is there again."""
    victim = fleet.nodes[0]
    pid = fleet.pid(victim)
    back: tuple[str, dict[str, object]] = ("node_joined", {"node": victim})
    yield Fault(lambda: fleet.proxy.slow(pid, LATE_S), (victim,), "not heard of", (back,))
    fleet.proxy.mend(pid)


@asynccontextmanager
async def garbage(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """A peer that has a node's key and its jobs, and answers with what no node would say."""
    liar = Liar(fleet.admit("liar"))
    await fleet.there(lambda: liar.node_id in fleet.searcher.live)
    told: list[tuple[str, dict[str, object]]] = [
        ("report_refused", {"node": liar.node_id}),
        ("job_failed", {"node": liar.node_id, "error": "its reports are not legal"}),
        *(("message_refused", {"why": why}) for why in liar.refusals),
    ]
    yield Fault(liar.lie, told=tuple(told))
    liar.leave()
    await fleet.there(lambda: liar.node_id not in fleet.searcher.live)
    await liar.close()


@asynccontextmanager
async def join(fleet: OpenFleet) -> AsyncIterator[Fault]:
    """Another node's process, whose cable is put in at the right moment."""
    spec = NodeSpec("guest", fleet.reached_at(fleet.admit("guest")), endless_engine)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "cluster.node.process"]
    fleet.proxy.hold_new(hold=True)
    guest = await asyncio.create_subprocess_exec(*command, env=environment, stdin=asyncio.subprocess.PIPE)
    try:
        assert guest.stdin is not None
        guest.stdin.write(pickle.dumps(spec))
        async with asyncio.timeout(30):
            while not fleet.proxy.knows(guest.pid):  # noqa: ASYNC110 - a process is waited for
                await asyncio.sleep(0.05)
        fleet.proxy.hold_new(hold=False)
        yield Fault(lambda: fleet.proxy.mend(guest.pid), told=(("node_joined", {"node": "guest"}),))
        guest.stdin.close()
        await fleet.there(lambda: "guest" not in fleet.searcher.live)
        assert await guest.wait() == 0
    finally:
        fleet.proxy.hold_new(hold=False)
        with contextlib.suppress(ProcessLookupError):
            guest.kill()


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
    "late": late,
    "garbage": garbage,
    "join": join,
    "leave": leave,
    "all nodes dead": all_dead,
}
