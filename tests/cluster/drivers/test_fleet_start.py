"""A fleet of one machine starts no part of Ray, and a fleet of several machines does not wait for it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.api import FleetError, SearchRequest
from cluster.coordination.settings import Mode, Settings, SharingSettings
from cluster.drivers import fleet_driver, node_placement, ray_process
from cluster.drivers.fleet_driver import FleetSearcher
from cluster.drivers.ray_cluster import RayFacts, RayRefused
from cluster.drivers.ray_process import RayLost, RayProcess
from cluster.engine_spec import EngineSpec, FleetSpec
from tests.cluster.engines import broken_engine, endless_engine
from tests.cluster.heard import Heard
from tests.cluster.open_fleet import OpenFleet, open_fleet
from tests.cluster.processes import alive, family
from worker.shogi import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]


class RefusesUs:
    """A `RayProcess` of a cluster with another token."""

    def __init__(self, _address: str) -> None:
        self.pid = 0

    async def close(self) -> None:
        pass

    async def open(self) -> RayFacts:
        raise RayRefused("no Ray cluster at 10.0.0.1:6379: its token is not ours (RAY_AUTH_TOKEN)")


async def test_nodes_without_a_processor_are_left_out_and_told() -> None:
    searcher, heard = FleetSearcher(5, None, endless_engine, endless_engine, at_most=1), Heard()
    await searcher.open(heard.listener())
    assert await searcher.whole(30) == 1
    assert set(searcher.live) <= {"node-1", "fallback"}
    assert heard.named("nodes_left_out") == [{"nodes": 1, "asked": 5}]
    await searcher.close()


async def test_a_cluster_that_is_not_there_yet_is_not_waited_for() -> None:
    """The master's own engine plays sound moves in time."""
    searcher, heard = FleetSearcher(address="127.0.0.1:1", engine=endless_engine, fallback=endless_engine), Heard()
    await searcher.open(heard.listener())
    assert searcher.live == ("fallback",)
    searcher.start(SearchRequest(1, STARTPOS, soft_ms=500, hard_ms=2000))
    decision = await heard.decision()
    assert decision.source == "fallback"
    assert decision.depth > 3
    await heard.until(lambda: len(heard.named("ray_failed")) >= 2, 30)
    assert "no Ray cluster at 127.0.0.1:1" in str(heard.named("ray_failed")[0]["why"])
    assert await searcher.whole(0.1) == 0
    await searcher.close()


async def test_a_token_that_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_placement, "RayProcess", RefusesUs)
    searcher = FleetSearcher(address="10.0.0.1:6379", engine=endless_engine, fallback=endless_engine)
    with pytest.raises(FleetError, match="its token is not ours"):
        await searcher.open(Heard().listener())


async def test_a_token_that_is_refused_late_is_told_and_the_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = asyncio.Event()

    class RefusesUsLate(RefusesUs):
        async def open(self) -> RayFacts:
            await refused.wait()
            return await super().open()

    monkeypatch.setattr(node_placement, "RayProcess", RefusesUsLate)
    monkeypatch.setattr(fleet_driver, "_OPENING_S", 0.1)
    searcher = FleetSearcher(address="10.0.0.1:6379", engine=endless_engine, fallback=endless_engine)
    heard = Heard()
    await searcher.open(heard.listener())
    searcher.start(SearchRequest(1, STARTPOS))
    refused.set()
    await heard.until(lambda: bool(heard.named("fleet_broken")), 30)
    assert "its token is not ours" in str(heard.named("fleet_broken")[0]["why"])
    with pytest.raises(FleetError, match="its token is not ours"):
        await searcher.whole(60)
    searcher.stop(1)
    assert (await heard.decision()).source == "fallback"
    await searcher.close()
    assert len(heard.named("fleet_broken")) == 1, "logged once, however often Ray is tried"


def test_an_address_that_is_none_is_an_error() -> None:
    for address in ("nowhere", "host:", ":6379", "host:port"):
        with pytest.raises(FleetError, match=f"no Ray cluster at {address}: expected host:port or auto"):
            FleetSearcher(address=address)


async def why_it_cannot_begin(searcher: FleetSearcher) -> str:
    """The error of `FleetSearcher.open`; or, if it had returned before the error was known, the later message."""
    heard = Heard()
    try:
        await searcher.open(heard.listener())
    except FleetError as error:
        with pytest.raises(FleetError, match="not open"):
            searcher.start(SearchRequest(1, STARTPOS, nodes=100))
        return str(error)
    await heard.until(lambda: bool(heard.named("fleet_broken")), 30)
    await searcher.close()
    return str(heard.named("fleet_broken")[0]["why"])


@pytest.mark.parametrize("which", ["node", "fallback"])
async def test_an_engine_that_cannot_be_made_says_why(which: str) -> None:
    """The working engine and the message of the broken one may come in either order."""
    engines = (broken_engine, endless_engine) if which == "node" else (endless_engine, broken_engine)
    why = await why_it_cannot_begin(FleetSearcher(1, None, *engines))
    assert re.search(rf"{which}.* cannot start: .*no such net: x\.bin", why)


async def test_a_process_that_hangs_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request gets an answer, and the fleet can be closed."""
    monkeypatch.setattr(ray_process, "_PING_S", 0.05)
    monkeypatch.setattr(ray_process, "_ANSWER_S", 0.5)
    ray = RayProcess("127.0.0.1:1")
    with pytest.raises(FleetError, match="no Ray cluster at"):
        await ray.open()
    pid = ray.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(30):
        with pytest.raises(RayLost, match="hangs"):
            await ray.ask("spawn", "run")
        assert "its process hangs" in await ray.ended()
        await ray.close()
    assert not alive(pid)


_LISTENS = "0A"


@pytest.fixture(scope="module")
def fleet() -> Iterator[OpenFleet]:
    with open_fleet(2, Settings()) as fleet:
        fleet.run(fleet.there(lambda: len(fleet.nodes) == 2 and "fallback" in fleet.searcher.live))
        yield fleet


def listening(pids: set[int]) -> dict[str, int]:
    """The addresses with ports at which processes listen, and the process of each."""
    sockets = {}
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets[os.readlink(descriptor)] = pid
            except OSError:
                continue  # it was closed
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and f"socket:[{fields[9]}]" in sockets:
                packed, port = fields[1].split(":")
                words = [bytes.fromhex(packed[i : i + 8])[::-1] for i in range(0, len(packed), 8)]
                address = ipaddress.ip_address(b"".join(words))
                mapped = getattr(address, "ipv4_mapped", None)
                found[f"{mapped or address}:{int(port, 16)}"] = sockets[f"socket:[{fields[9]}]"]
    return found


def test_nothing_listens_but_on_the_loopback(fleet: OpenFleet) -> None:
    pids = family(os.getpid())
    found = listening(pids)
    assert os.getpid() in found.values()
    assert {address.rpartition(":")[0] for address in found} == {"127.0.0.1"}, found


FLEET = FleetSpec((EngineSpec(hash_mb=16),))


async def search(searcher: FleetSearcher, heard: Heard, number: int, soft_ms: int = 1500) -> None:
    heard.forget()
    searcher.start(SearchRequest(number, STARTPOS, soft_ms=soft_ms, hard_ms=10_000))
    await heard.decision(timeout_s=15)


async def test_the_nodes_use_each_others_entries() -> None:
    heard = Heard()

    def total(name: str) -> float:
        return sum(said[name] for said in heard.named("shared"))  # type: ignore[misc]

    searcher = FleetSearcher(
        nodes=3,
        engine=FLEET.build,
        fallback=endless_engine,
        settings=Settings(Mode.CONSULT),
        sharing=SharingSettings(bytes_per_s=4_000_000),
    )
    await searcher.open(heard.listener())
    assert await searcher.whole(60) == 3
    try:
        await heard.until(lambda: any(event["listen_to"] == 2 for event in heard.named("sharing")))
        await search(searcher, heard, 1)
        # On a busy machine their messages do not all come at once.
        await heard.until(lambda: total("nodes") == 3)
        assert total("entries_in") > 1000
        assert total("bytes_in_per_s") > 16 * 1000
        assert total("refused") == 0
        assert all(0 < said["used_share"] <= 1 for said in heard.named("shared"))  # type: ignore[operator]
    finally:
        await searcher.close()
