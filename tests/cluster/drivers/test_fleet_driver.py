"""A fleet of this machine: processes, sockets, a clock. One fleet serves all of these tests.

The fault matrix is among them: `test_fault` has real tests of eight of its cells. After any fault of the nodes, in any
part of a search, there is one decision, by the hard deadline, legal, and the log has the reason. If a node is lost in
the middle of a search, its part of the tree is dealt to the others.

==============  =======================================================  ==============================================
fault           action                                                   the log says
==============  =======================================================  ==============================================
kill -9         SIGKILL to a node's process                              node_lost: its process died
SIGSTOP         to a node's process, SIGCONT later                       node_lost: not heard of
cut             a node's connection passes nothing, and is mended later  node_lost: not heard of
leave           SIGTERM to a node's process                              node_leaves; node_lost: leaves: SIGTERM
all nodes dead  SIGKILL to every node's process                          node_lost: its process died, of each
==============  =======================================================  ==============================================

Each in the search, when its tree is dealt; kill -9 in the presearch, at the deadline (50 ms before the soft time) and
while pondering, too.
Faults of Ray itself are in `tests.cluster.drivers.test_ray_head`. Between hosts kill -9, SIGSTOP, cut, join and leave
are in `tests.cluster.drivers.test_ray_hosts` again; the coordinator's view of all of them, at random moments of
virtual time, is in `tests.cluster.coordination.test_coordinator_storms`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest

from cluster.api import Decision
from cluster.coordination.settings import Mode, Settings
from tests.cluster.faults import FAULTS, Fault
from tests.cluster.open_fleet import OpenFleet, open_fleet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def shared() -> Iterator[OpenFleet]:
    with open_fleet(3, Settings(Mode.SPLIT, validate=True, presearch_max_ms=150)) as fleet:
        yield fleet


@pytest.fixture
def fleet(shared: OpenFleet) -> OpenFleet:
    """The shared fleet, with at least two nodes and the fallback."""
    shared.run(shared.there(lambda: len(shared.nodes) >= 2 and "fallback" in shared.searcher.live))
    return shared


def test_a_search_is_split_and_ends_at_the_soft_time(fleet: OpenFleet) -> None:
    async def play() -> None:
        await fleet.there(lambda: len(fleet.nodes) == 3)
        fleet.start(600, 30_000)
        began = time.monotonic()
        decision = await fleet.decision()
        assert 0.55 < time.monotonic() - began < 20
        assert decision.source == "split"
        assert decision.depth > 5
        assert {view.node_id for view in decision.fleet} == {"node-1", "node-2", "node-3"}
        assert all(view.nodes > 0 for view in decision.fleet)

    fleet.run(play())


def test_stop_in_the_middle_of_a_search(fleet: OpenFleet) -> None:
    async def play() -> None:
        number = fleet.start(None, None)
        await fleet.heard.until(lambda: any(progress.depth > 20 for progress in fleet.heard.progress))
        assert not fleet.heard.decisions
        fleet.searcher.stop(number)
        assert len(fleet.heard.decisions) == 1
        # The nodes are free at once: the next search starts.
        fleet.start(500, 2000)
        assert (await fleet.decision()).depth > 5

    fleet.run(play())


def test_kill_of_the_fallback(fleet: OpenFleet) -> None:
    async def play() -> None:
        os.kill(fleet.pid("fallback"), signal.SIGKILL)
        await fleet.heard.until(lambda: bool(fleet.heard.named("fallback_lost")), 5)
        fleet.start(600, 2000)
        assert (await fleet.decision()).source == "split"
        await fleet.heard.until(lambda: "fallback" in fleet.searcher.live, 15)

    fleet.run(play())


async def in_presearch(fleet: OpenFleet, fault: Fault) -> Decision:
    fleet.start(1000, 1500)
    assert fleet.heard.named("search_started")[0]["phase"] == "presearch"
    fault.strike()
    return await fleet.decision()


async def in_search(fleet: OpenFleet, fault: Fault) -> Decision:
    fleet.start(1200, 1700)
    await fleet.event("dealt")
    fault.strike()
    return await fleet.decision()


async def at_the_deadline(fleet: OpenFleet, fault: Fault) -> Decision:
    fleet.start(400, 900)
    await asyncio.sleep(0.35)
    fault.strike()
    return await fleet.decision()


async def pondering(fleet: OpenFleet, fault: Fault) -> Decision:
    """A ponder search; the opponent then plays the lost node's reply, if there is one."""
    fleet.ponder("7g7f")
    event = await fleet.event("pondering")
    replies: dict[str, list[str]] = event["replies"]
    fault.strike()
    await fault.explained(fleet)
    assert not fleet.heard.decisions
    reply = next((reply for reply in replies if set(replies[reply]) & set(fault.loses)), next(iter(replies)))
    fleet.start(400, 900, "7g7f", reply)
    assert fleet.heard.named("ponder_hit")
    return await fleet.decision()


PHASES = {"presearch": in_presearch, "search": in_search, "deadline": at_the_deadline, "ponder": pondering}


CELLS = [*((name, "search") for name in FAULTS), *(("kill -9", name) for name in PHASES if name != "search")]


@pytest.mark.parametrize(("fault_name", "phase_name"), CELLS)
def test_fault(fleet: OpenFleet, fault_name: str, phase_name: str) -> None:
    make_fault, phase = FAULTS[fault_name], PHASES[phase_name]

    async def play() -> None:
        async with make_fault(fleet) as fault:
            fleet.heard.forget()
            await phase(fleet, fault)
            await fault.explained(fleet)
            if len(fault.loses) == 1 and phase is in_search:
                assert fault.loses[0] not in fleet.dealt_after_the_loss_of(fault.loses[0])
        assert len(fleet.heard.decisions) == 1

    fleet.run(play())


def test_a_node_made_anew_knows_how_many_share_its_machine(fleet: OpenFleet) -> None:
    def lives() -> list[object]:
        return [said["engine"] for said in fleet.heard.named("node_ready") if said["node"] == "node-1"]

    async def play() -> None:
        await fleet.there(lambda: len(fleet.nodes) == 3)
        before = len(lives())
        os.kill(fleet.pid("node-1"), signal.SIGKILL)
        await fleet.there(lambda: len(lives()) > before)
        assert set(lives()) == {"hash, one of 3"}

    fleet.run(play())


def test_the_fork_server_dies(fleet: OpenFleet) -> None:
    """The nodes live on, and the next fork server starts new ones as the first did."""

    async def play() -> None:
        await fleet.there(lambda: len(fleet.nodes) == 3)
        supervisor = fleet.searcher._fork_server
        assert supervisor is not None
        fork_server = supervisor.pid
        assert fork_server is not None
        os.kill(fork_server, signal.SIGKILL)
        await fleet.event("fork_server_lost")
        fleet.start(600, 1500)
        assert (await fleet.decision()).source == "split"
        assert not fleet.heard.named("node_lost")
        await fleet.there(lambda: supervisor.pid not in (None, fork_server))
        os.kill(fleet.pid("node-1"), signal.SIGKILL)
        await fleet.event("node_lost", node="node-1")
        await fleet.there(lambda: "node-1" in fleet.nodes)

    fleet.run(play())
