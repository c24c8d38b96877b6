"""The fleet on real Ray: processes, sockets, a clock. One fleet serves most of these tests, as Ray starts slowly."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import zmq

from cluster.api import FleetError, SearchRequest
from cluster.channel import ChannelClient
from cluster.messages import Hello
from cluster.ray_driver import RaySearcher
from cluster.settings import Settings
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from worker.engine import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90), pytest.mark.usefixtures("warm")]


@dataclass
class OpenFleet:
    """An open searcher of two nodes, its loop, and what it said."""

    runner: asyncio.Runner
    searcher: RaySearcher
    heard: Heard
    next_id: int = 0

    def start(self, soft_ms: int | None, hard_ms: int | None) -> int:
        self.heard.forget()
        self.next_id += 1
        self.searcher.start(SearchRequest(self.next_id, STARTPOS, soft_ms=soft_ms, hard_ms=hard_ms))
        return self.next_id

    def pid(self, node_id: str) -> int:
        return next(int(str(f["pid"])) for f in reversed(self.heard.named("node_ready")) if f["node"] == node_id)


@pytest.fixture(scope="module")
def shared() -> Iterator[OpenFleet]:
    with asyncio.Runner() as runner:
        searcher = RaySearcher(engine=endless_engine, fallback=endless_engine, settings=Settings(validate=True))
        heard = Heard()

        async def opened() -> None:
            await searcher.open(heard.listener())

        runner.run(opened())
        yield OpenFleet(runner, searcher, heard)
        runner.run(searcher.close())


@pytest.fixture
def fleet(shared: OpenFleet) -> OpenFleet:
    """The shared fleet, all there and at rest."""

    async def complete() -> None:
        await shared.heard.until(lambda: len(shared.searcher.live) == 3, 20)

    shared.runner.run(complete())
    return shared


def test_a_search_is_split_and_ends_at_the_soft_time(fleet: OpenFleet) -> None:
    async def play() -> None:
        fleet.start(600, 2000)
        began = time.monotonic()
        decision = await fleet.heard.decision()
        assert 0.55 < time.monotonic() - began < 1.5
        assert decision.source == "split"
        assert decision.depth > 5
        assert {view.node_id for view in decision.fleet} == {"node-1", "node-2"}
        assert all(view.nodes > 0 for view in decision.fleet)

    fleet.runner.run(play())


def test_stop_in_the_middle_of_a_search(fleet: OpenFleet) -> None:
    async def play() -> None:
        number = fleet.start(None, None)
        await fleet.heard.until(lambda: any(progress.depth > 20 for progress in fleet.heard.progress))
        assert not fleet.heard.decisions
        began = time.monotonic()
        fleet.searcher.stop(number)
        assert len(fleet.heard.decisions) == 1
        assert time.monotonic() - began < 0.5
        # The nodes are free at once: the next search gets going.
        fleet.start(500, 2000)
        assert (await fleet.heard.decision()).depth > 5

    fleet.runner.run(play())


def test_kill_of_a_node_in_the_middle_of_a_search(fleet: OpenFleet, capfd: pytest.CaptureFixture[str]) -> None:
    async def play() -> None:
        before = fleet.pid("node-1")
        fleet.start(2500, 4000)
        await fleet.heard.until(lambda: bool(fleet.heard.named("dealt")))
        began = time.monotonic()
        os.kill(before, signal.SIGKILL)
        await fleet.heard.until(lambda: bool(fleet.heard.named("node_lost")))
        assert time.monotonic() - began < 1.0
        assert fleet.heard.named("node_lost")[0]["node"] == "node-1"
        assert fleet.heard.named("dealt")[-1]["leaves"] == {"node-2": "all"}
        decision = await fleet.heard.decision()
        assert 2400 < decision.elapsed_ms < 3500
        assert decision.depth > 5
        await fleet.heard.until(lambda: "node-1" in fleet.searcher.live, 15)
        assert fleet.pid("node-1") != before
        fleet.start(600, 2000)
        decision = await fleet.heard.decision()
        assert all(view.alive and view.nodes for view in decision.fleet)

    fleet.runner.run(play())
    out = capfd.readouterr()
    assert (out.out, out.err) == ("", "")


def test_kill_of_all_nodes_leaves_the_fallback(fleet: OpenFleet) -> None:
    async def play() -> None:
        for node_id in ("node-1", "node-2"):
            os.kill(fleet.pid(node_id), signal.SIGKILL)
        await fleet.heard.until(lambda: fleet.searcher.live == ("fallback",), 5)
        fleet.start(300, 1000)
        decision = await fleet.heard.decision()
        assert decision.source == "fallback"
        assert decision.depth > 1
        assert decision.elapsed_ms < 1000

    fleet.runner.run(play())


def test_a_node_that_stands_still_is_dropped_and_taken_back(fleet: OpenFleet) -> None:
    async def play() -> None:
        pid = fleet.pid("node-2")
        fleet.start(3000, 4000)
        await fleet.heard.until(lambda: bool(fleet.heard.named("dealt")))
        os.kill(pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            await fleet.heard.until(lambda: bool(fleet.heard.named("node_lost")), 3)
            assert 0.6 < time.monotonic() - began < 2.5
            assert "not heard of" in str(fleet.heard.named("node_lost")[0]["reason"])
        finally:
            os.kill(pid, signal.SIGCONT)
        await fleet.heard.until(lambda: bool(fleet.heard.named("node_joined")), 3)
        assert fleet.pid("node-2") == pid
        await fleet.heard.decision()

    fleet.runner.run(play())


def test_kill_of_the_fallback(fleet: OpenFleet) -> None:
    async def play() -> None:
        os.kill(fleet.pid("fallback"), signal.SIGKILL)
        await fleet.heard.until(lambda: bool(fleet.heard.named("fallback_lost")), 5)
        fleet.start(600, 2000)
        assert (await fleet.heard.decision()).source == "split"
        await fleet.heard.until(lambda: "fallback" in fleet.searcher.live, 15)

    fleet.runner.run(play())


def test_a_stranger_without_the_key_is_refused(fleet: OpenFleet) -> None:
    async def play() -> None:
        fleet.heard.forget()
        address = fleet.searcher._channel_address
        assert address is not None
        public, secret = zmq.curve_keypair()
        stranger = ChannelClient(
            replace(address, client_public=public, client_secret=secret),
            Hello("node-1", "x", "h", 1, "e"),
            lambda _order: None,
            lambda: (0, True),
        )
        stranger.start()
        await fleet.heard.until(lambda: bool(fleet.heard.named("message_refused")))
        await asyncio.to_thread(stranger.close)
        assert fleet.heard.named("message_refused") == [{"why": "a peer without the fleet's key"}]
        assert not fleet.heard.named("node_lost")

    fleet.runner.run(play())


def test_one_at_a_time(fleet: OpenFleet) -> None:
    async def play() -> None:
        with pytest.raises(FleetError, match="one RaySearcher at a time"):
            await RaySearcher().open(Heard().listener())
        fleet.start(300, 1000)
        await fleet.heard.decision()

    fleet.runner.run(play())


def test_secrets_stay_out_of_arguments_and_logs(fleet: OpenFleet) -> None:
    address = fleet.searcher._channel_address
    assert address is not None
    token_file = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
    assert token_file.stat().st_mode & 0o077 == 0
    secrets = [token_file.read_text(), address.client_secret.decode()]
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    shown += repr(fleet.heard.events)
    for log in token_file.parent.rglob("*"):
        if log.is_file() and log != token_file:
            shown += log.read_text(errors="replace")
    for secret in secrets:
        assert secret not in shown
