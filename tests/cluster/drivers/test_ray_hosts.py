"""A fleet of several hosts (`tests.cluster.ray_hosts`), and faults of networks and machines."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cluster.drivers.host import now_ms
from tests.cluster.namespaces import why_not
from tests.cluster.processes import alive
from tests.cluster.ray_hosts import Fleet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def opened() -> Iterator[Fleet]:
    if why := why_not():
        pytest.skip(why)
    fleet = Fleet()
    try:
        fleet.open()
    except BaseException:
        fleet.network.close()
        raise
    try:
        yield fleet
    finally:
        fleet.close()


@pytest.fixture
def fleet(opened: Fleet) -> Fleet:
    opened.all_search(2)
    return opened


def test_a_host_joins(fleet: Fleet) -> None:
    """In the middle of an endless search; the host takes part in it at once."""
    number = fleet.begin(soft_ms=None, hard_ms=None)
    host = fleet.join()
    ready = fleet.event("node_ready", 45, host=host.name)
    assert ready["engine"] == "hash, one of 1"
    fleet.event("dealt", why=f"{ready['node']} joined")
    fleet.searched_by(3)
    fleet.order("stop", search_id=number)
    assert fleet.event("decision")["source"] == "split"


def test_a_host_is_taken_away(fleet: Fleet) -> None:
    """EC2's notice comes in the middle of a search: the node's part is dealt first, and then its host goes."""
    host = fleet.network.hosts[3]
    node = fleet.node_on(host)
    for command in ("link set lo up", "addr add 169.254.169.254/32 dev lo"):
        assert host.start(["ip", *command.split()], fleet.environment).wait(5) == 0
    service = [sys.executable, "-m", "tests.cluster.metadata_service", "169.254.169.254", "80"]
    metadata = host.start(service, fleet.environment, piped=True)
    assert metadata.stdin is not None and metadata.stdout is not None
    assert metadata.stdout.readline() == "serving\n"
    watch = host.start(
        [sys.executable, "-m", "gougi", "fleet", "watch", "--poll", "0.2"], fleet.environment, piped=True
    )
    assert watch.stdout is not None
    number = fleet.begin(soft_ms=None, hard_ms=None)  # the watch may take its time to start
    fleet.event("dealt")
    fleet.searched_by(3)
    since = now_ms()
    notice = {"action": "terminate", "time": (datetime.now(UTC) + timedelta(minutes=2)).isoformat()}
    metadata.stdin.write(f"spot/instance-action {json.dumps(notice)}\n")
    metadata.stdin.flush()
    fleet.event("node_leaves", 30, node=node["node"], why="SIGTERM")
    fleet.lost(since, node["node"], "SIGTERM")
    said = [json.loads(line) for line in watch.stdout]
    assert watch.wait(5) == 10
    assert [each["event"] for each in said] == ["machine_leaves", "machine_released"]
    assert said[-1]["not_dismissed"] == []
    os.kill(node["pid"], 0)  # it is still there: its part was dealt before
    fleet.order("stop", search_id=number)
    assert fleet.event("decision")["source"] == "split"
    metadata.stdin.close()


def test_a_raylet_is_killed(fleet: Fleet) -> None:
    """Two raylets die. On a host with a searching node, the node searches on and is adopted when the raylet is back. On
    the host that was taken away, a new raylet stands for a new machine: it is used again."""
    gone, host = fleet.network.hosts[3], fleet.network.hosts[2]
    node = fleet.node_on(host)
    raylets = [pid for each in (gone, host) for pid in each.processes("raylet")]
    number = fleet.begin(soft_ms=None, hard_ms=None)
    since = now_ms()
    for pid in raylets:
        os.kill(pid, signal.SIGKILL)
    fleet.joined((gone,), since)
    fleet.searched_by(3)
    fleet.order("stop", search_id=number)
    assert fleet.event("decision")["source"] == "split"
    assert not fleet.has("node_lost", node=node["node"])
    assert fleet.node_on(host) == node
    assert alive(node["pid"])


def test_a_node_leaves(fleet: Fleet) -> None:
    leaving = fleet.node_on(fleet.network.hosts[1])
    fleet.search()
    since = now_ms()
    os.kill(leaving["pid"], signal.SIGTERM)
    fleet.lost(since, leaving["node"], "leaves: SIGTERM")
    assert fleet.decision()["source"] == "split"
    # The others are enough for the next search. The node's process is still there and holds its slot; neither it nor
    # another one in its slot is used.
    fleet.all_search(2)
    os.kill(leaving["pid"], 0)
    assert fleet.node_on(fleet.network.hosts[1]) == leaving


def test_the_head_dies_and_comes_back(fleet: Fleet) -> None:
    """All of Ray on the head's host is killed. Searches go on, because jobs and reports do not go through Ray. The
    raylets of the other hosts give up after a time and restart, and their supervisors adopt the nodes, which noticed
    nothing. The dismissed host is used again, in the running search."""
    left, *others = fleet.network.hosts[1:4]
    nodes = [fleet.node_on(host) for host in others]
    fleet.search()
    fleet.kill_head()
    assert fleet.decision()["source"] == "split"
    number = fleet.begin(soft_ms=None, hard_ms=None)
    fleet.event("ray_lost", 20)
    fleet.start_head()
    began = fleet.event("ray_started", 60)
    fleet.joined((left,), began["when_ms"])
    fleet.searched_by(3)
    fleet.order("stop", search_id=number)
    assert fleet.event("decision")["source"] == "split"
    assert not fleet.has("node_lost")
    assert [fleet.node_on(host) for host in others] == nodes


def test_a_cable_is_cut(fleet: Fleet) -> None:
    host = fleet.network.hosts[2]
    node = fleet.node_on(host)
    fleet.search()
    since = now_ms()
    host.cut()
    fleet.lost(since, node["node"], "not heard of")
    time.sleep(1.0)
    mended = now_ms()
    host.mend()
    assert fleet.decision()["source"] == "split"
    joined = fleet.event("node_joined", 20, after_ms=mended, node=node["node"])
    print(f"back {joined['when_ms'] - mended} ms after the cable")
    assert fleet.node_on(host) == node  # whatever became of its raylet
