"""A fleet over real Ray, with its head on this machine: access to the cluster, and faults of Ray itself.

Fleets of several hosts are in `tests.cluster.drivers.test_ray_hosts`; it needs rights that this file does not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.api import FleetError
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.ray_survey import survey
from tests.cluster.open_fleet import OpenFleet, open_fleet
from tests.cluster.processes import alive
from tests.cluster.ray_head import Head, ray_head

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with ray_head(2) as head:
        yield head


@pytest.fixture(scope="module")
def shared(head: Head) -> Iterator[OpenFleet]:
    with open_fleet(1, Settings(Mode.SPLIT, validate=True, presearch_max_ms=150), head.address) as fleet:
        yield fleet


@pytest.fixture
def fleet(shared: OpenFleet) -> OpenFleet:
    """The shared fleet, with both nodes, their supervisors and the fallback."""
    shared.run(shared.there(lambda: {"node-1", "node-2", "fallback"} <= set(shared.searcher.live), 150))
    shared.run(kept(shared))
    return shared


async def kept(fleet: OpenFleet) -> None:
    """Wait until each node has its supervisor."""
    supervisor = fleet.searcher._supervisor
    assert supervisor is not None
    async with asyncio.timeout(150):
        while supervisor._kept != {"node-1", "node-2"}:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)


def test_each_node_knows_how_many_share_its_machine(fleet: OpenFleet) -> None:
    assert {said["engine"] for said in fleet.heard.named("node_ready") if said["node"] != "fallback"} == {
        "hash, one of 2"
    }


def test_secrets_stay_out_of_arguments_and_logs(fleet: OpenFleet, head: Head) -> None:
    keys = [fleet.admit("node-1"), fleet.admit("fallback")]
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    shown += repr(fleet.heard.events)
    for log in head.folder.rglob("*"):
        if log.is_file():
            shown += log.read_text(errors="replace")
    for secret in (head.token, *(each.client_secret.decode() for each in keys)):
        assert secret not in shown


@pytest.mark.parametrize("known", [True, False])
def test_the_cluster_is_asked_how_it_is(
    fleet: OpenFleet, head: Head, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Any process with its token can ask, without joining it."""
    if not known:
        monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
        with pytest.raises(FleetError, match="its token is not ours"):
            survey(head.address, 60)
        return

    async def asked() -> dict[str, Any]:
        async with asyncio.timeout(60):
            while True:
                said = await asyncio.to_thread(survey, head.address, 60)
                if said["machines"][0]["taken"] == 2:  # both supervisors have their slots
                    return said

    said = fleet.run(asked())
    (machine,), (player,) = said["machines"], said["players"]
    assert (machine["alive"], machine["places"], machine["taken"]) == (True, 2, 2)
    assert machine["players"] == {player["job"]: 2}
    assert (player["nodes"], player["waiting"]) == (2, 1)


@pytest.mark.parametrize("process", ["gcs_server", "ray process"])
def test_ray_itself_dies(fleet: OpenFleet, head: Head, process: str) -> None:
    """The nodes search on, and the next Ray's supervisors adopt them. A node killed meanwhile is back before."""

    async def play() -> None:
        before = {node_id: fleet.pid(node_id) for node_id in fleet.nodes}
        fleet.start(1200, 1700)
        await fleet.event("dealt")
        began = fleet.ray["pid"]
        if process == "ray process":
            os.kill(began, signal.SIGKILL)
        else:
            assert head.kill(f"/gcs/{process}")
        assert (await fleet.decision()).source == "split"
        assert not fleet.heard.named("node_lost")
        await fleet.event("ray_lost", 60)
        os.kill(before["node-2"], signal.SIGKILL)
        await fleet.event("node_lost", node="node-2")
        await fleet.there(lambda: "node-2" in fleet.nodes)
        await fleet.there(lambda: fleet.ray["pid"] != began, 150)
        await kept(fleet)
        assert [event["node"] for event in fleet.heard.named("node_lost")] == ["node-2"]
        assert {node_id: fleet.pid(node_id) for node_id in fleet.nodes} == {**before, "node-2": fleet.pid("node-2")}
        assert not any(map(alive, (before["node-2"], began)))

    fleet.run(play())


def test_the_ray_process_hangs(fleet: OpenFleet) -> None:
    """The hang is noticed, and another process is started; the nodes search on."""

    async def play() -> None:
        began = fleet.ray["pid"]
        os.kill(began, signal.SIGSTOP)
        lost = await fleet.event("ray_lost", 30)
        assert "hangs" in str(lost["why"])
        fleet.start(600, 1500)
        assert (await fleet.decision()).source == "split"
        await fleet.there(lambda: fleet.ray["pid"] != began, 150)
        assert not fleet.heard.named("node_lost")
        assert not alive(began)

    fleet.run(play())
