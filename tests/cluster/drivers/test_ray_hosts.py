"""A fleet of several hosts: a real Ray node in each, and what befalls networks and machines.

The hosts are namespaces of this machine (`tests.cluster.namespaces`). The first holds Ray's head and the master; the
others are worker machines, on each of which a loop stands for systemd's ``Restart=always``.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.drivers.host import now_ms
from tests.cluster.namespaces import Host, Network, why_not
from tests.cluster.processes import alive
from worker.shogi import Position

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]

RAY = Path(sys.executable).with_name("ray")
SOFT_MS, HARD_MS = 2500, 3500

HEALTH_CHECKS = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "250",
    "RAY_health_check_timeout_ms": "400",
    "RAY_health_check_failure_threshold": "3",
}
"""As docs/how-to/several-machines.md has them for several hosts."""
WITHOUT_HEAD = {"RAY_gcs_rpc_server_reconnect_timeout_s": "4"}
"""Seconds that a raylet waits for a head that is gone; Ray's default is a minute, too long for a test."""

Said = dict[str, Any]


class Fleet:
    """The hosts with their Ray nodes, and the master in the first of them."""

    def __init__(self) -> None:
        self.network = Network()
        self.token = secrets.token_hex(32)
        self.environment = {
            **os.environ,
            **HEALTH_CHECKS,
            "RAY_raylet_start_wait_time_s": "20",  # as in `tests.cluster.ray_head`
            **WITHOUT_HEAD,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "GOUGI_RUN_DIR": f"{self.network.folder}/run",
        }
        self.head = self.network.add()
        self.address = f"{self.head.address}:6379"
        self._last_id = 0
        self._live = 0
        self._said: list[Said] = []
        self._news = threading.Condition()

    def open(self, joins: Sequence[int] = (1, 1), net: str = "") -> None:
        """Start the head, machines with so many places each, and the master; the nodes take the network ``net``."""
        self.start_head()
        for places in joins:
            self.join(places)
        assert self._head_service.stdout is not None
        assert any("Ray runtime started" in line for line in self._head_service.stdout)
        self.master = self.head.start(
            [sys.executable, "-m", "tests.cluster.ray_master", self.address, *([net] if net else [])],
            self.environment,
            piped=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self.wait(lambda said: said["what"] == "open", 90)

    def close(self) -> None:
        assert self.master.stdin is not None
        self.master.stdin.close()
        try:
            assert self.master.wait(20) == 0
        finally:
            self.network.close()

    def start_head(self) -> None:
        """Begin to start Ray on the first host."""
        self._head_service = self._ray_start(
            self.head, "--head", "--port=6379", "--include-dashboard=false", '--resources={"searcher": 0}'
        )

    def kill_head(self) -> None:
        """Kill all of Ray on the first host, the loop that would start it again too. The master is there as before."""
        service = self._head_service.pid
        for pid in self.head.processes():
            if os.getsid(pid) == service:
                os.kill(pid, signal.SIGKILL)
        # Ray starts no second head if it finds processes of one; it looks for them in all of this machine's hosts.
        forget = ["rm", f"{self.network.folder}/ray_current_cluster"]
        assert self.head.start(forget, self.environment).wait(5) == 0

    def join(self, places: int = 1) -> Host:
        """Another machine with places for nodes."""
        host = self.network.add()
        self.at_host(host)
        self._ray_start(host, f"--address={self.address}", f'--resources={{"searcher": {places}}}')
        return host

    def at_host(self, host: Host) -> None:
        """Prepare a new host."""

    def order(self, do: str, **fields: object) -> None:
        assert self.master.stdin is not None
        self.master.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self.master.stdin.flush()

    def begin(self, soft_ms: int | None = SOFT_MS, hard_ms: int | None = HARD_MS) -> int:
        """Begin a search. What was said before is forgotten, but who is ready."""
        self._last_id += 1
        with self._news:
            self._said = [said for said in self._said if said["what"] == "node_ready"]
        self.order("start", search_id=self._last_id, soft_ms=soft_ms, hard_ms=hard_ms)
        return self._last_id

    def search(self) -> int:
        """Begin a search; returns when it is split."""
        number = self.begin()
        self.event("dealt")
        return number

    def wait(self, condition: Callable[[Said], bool], timeout_s: float = 5.0) -> Said:
        """The first that the master said for which that holds."""

        def found() -> Said | None:
            return next((said for said in self._said if condition(said)), None)

        with self._news:
            assert self._news.wait_for(lambda: found() is not None, timeout_s), "\n".join(map(str, self._said[-20:]))
            said = found()
        assert said is not None
        return said

    def event(self, what: str, timeout_s: float = 5.0, after_ms: int = 0, **fields: object) -> Said:
        return self.wait(
            lambda said: said["what"] == what and said["when_ms"] >= after_ms and fields.items() <= said.items(),
            timeout_s,
        )

    def has(self, what: str, **fields: object) -> bool:
        """Whether the master has said that, since the search began."""
        with self._news:
            return any(said["what"] == what and fields.items() <= said.items() for said in self._said)

    def decision(self) -> Said:
        """The search's end, checked for what must hold whatever happened."""
        decision = self.event("decision", search_id=self._last_id)
        started = self.event("search_started", search_id=self._last_id)
        assert decision["when_ms"] - started["when_ms"] <= HARD_MS
        Position.startpos().push_all(decision["pv"])
        assert decision["pv"][0] == decision["move"]
        return decision

    def node_on(self, host: Host) -> Said:
        """The event by which the last node on that host became ready."""
        with self._news:
            return next(s for s in reversed(self._said) if s["what"] == "node_ready" and s["host"] == host.name)

    def all_search(self, hosts: int, timeout_s: float = 45.0) -> None:
        """Wait until so many nodes are there and take part in a search."""
        with self._news:
            assert self._news.wait_for(lambda: self._live >= hosts, timeout_s), "\n".join(map(str, self._said[-20:]))
        number = self.search()
        self.searched_by(hosts)
        self.order("stop", search_id=number)
        self.decision()

    def searched_by(self, hosts: int) -> None:
        """Wait until so many nodes take part in the search that runs."""
        self.wait(lambda said: said["what"] == "progress" and len(said["busy"]) >= hosts)

    def joined(self, hosts: Sequence[Host], since_ms: int) -> None:
        """Wait until a node of each has joined, and has its part of the tree. Before, it votes from the presearch."""
        times = []
        for host in hosts:
            ready = self.event("node_ready", 45, after_ms=since_ms, host=host.name)
            times.append(self.event("node_joined", after_ms=since_ms, node=ready["node"])["when_ms"])
        self.event("dealt", after_ms=max(times))

    def lost(self, since_ms: int, node: str, why: str) -> Said:
        """The loss of that node, and that its part of the tree is dealt to others. Prints how long both took."""
        lost = self.event("node_lost", node=node)
        dealt = self.event("dealt", after_ms=lost["when_ms"], why=f"{node} lost")
        assert why in lost["reason"]
        assert node not in dealt["leaves"]
        print(f"known after {lost['when_ms'] - since_ms} ms, dealt again {dealt['when_ms'] - lost['when_ms']} ms later")
        return lost

    def _ray_start(self, host: Host, *options: str) -> subprocess.Popen[str]:
        fixed = f"--node-ip-address={host.address} --temp-dir={self.network.folder} --num-cpus=0 --block"
        command = [RAY, "start", *fixed.split(), "--object-store-memory=80000000", *options]
        loop = 'while :; do "$@"; sleep 0.2; done'
        return host.start(["sh", "-c", loop, "sh", *map(str, command)], self.environment, piped=host is self.head)

    def _listen(self) -> None:
        assert self.master.stdout is not None
        for line in self.master.stdout:
            said = json.loads(line)
            with self._news:
                self._said.append(said)
                self._live = said.get("live", self._live)
                self._news.notify_all()


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
    """In the middle of a search that has no end, which it takes part in as soon as it is there."""
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
    """Two raylets die. On a host with a searching node the node goes on, and is adopted when the raylet is back. On the
    host that was taken away a new raylet stands for a new machine: it is used again.
    """
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
    # The others are enough for the next search. The node's process is still there, so that its place is taken; neither
    # it nor another one in its place is used.
    fleet.all_search(2)
    os.kill(leaving["pid"], 0)
    assert fleet.node_on(fleet.network.hosts[1]) == leaving


def test_the_head_dies_and_comes_back(fleet: Fleet) -> None:
    """All of Ray on the head's host is killed. Searches go on, for jobs and reports do not go through Ray; the raylets
    of the other hosts give up after a time and begin anew, and their supervisors adopt the nodes, which noticed
    nothing. The one that left is used again, in the search that runs.
    """
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
    assert fleet.node_on(host) == node  # whatever its raylet made of it
