"""Hosts of a fleet, with a real Ray node in each, for the tests.

The hosts are namespaces of this machine (`tests.cluster.namespaces`). The first holds Ray's head and the master; the
others are worker machines, each with a loop in place of systemd's ``Restart=always``.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.cluster.namespaces import Host, Network
from worker.shogi import Position

RAY = Path(sys.executable).with_name("ray")
SOFT_MS, HARD_MS = 2500, 3500

HEALTH_CHECKS = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "250",
    "RAY_health_check_timeout_ms": "400",
    "RAY_health_check_failure_threshold": "3",
}
"""As docs/how-to/several-machines.md gives them for several hosts."""
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
        """Start the head, machines with so many slots each, and the master; the nodes take the network ``net``."""
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
        """Kill all of Ray on the first host, with the loop that would restart it. The master is there as before."""
        service = self._head_service.pid
        for pid in self.head.processes():
            if os.getsid(pid) == service:
                os.kill(pid, signal.SIGKILL)
        # Ray starts no second head if it finds processes of one; it searches all of this machine's hosts.
        forget = ["rm", f"{self.network.folder}/ray_current_cluster"]
        assert self.head.start(forget, self.environment).wait(5) == 0

    def join(self, places: int = 1) -> Host:
        """Another machine with slots for nodes."""
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
        """Begin a search. Earlier messages are forgotten, except which nodes are ready."""
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
        """The master's first message that satisfies the condition."""

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
        """Whether the master has sent that message since the search began."""
        with self._news:
            return any(said["what"] == what and fields.items() <= said.items() for said in self._said)

    def decision(self) -> Said:
        """The search's end, checked for the invariants."""
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
        """Wait until so many nodes take part in the current search."""
        self.wait(lambda said: said["what"] == "progress" and len(said["busy"]) >= hosts)

    def joined(self, hosts: Sequence[Host], since_ms: int) -> None:
        """Wait until a node of each has joined, and has its part of the tree. Before that, it votes from the
        presearch."""
        times = []
        for host in hosts:
            ready = self.event("node_ready", 45, after_ms=since_ms, host=host.name)
            times.append(self.event("node_joined", after_ms=since_ms, node=ready["node"])["when_ms"])
        self.event("dealt", after_ms=max(times))

    def lost(self, since_ms: int, node: str, why: str) -> Said:
        """The loss of that node, after which its part of the tree is dealt to others. Prints how long both took."""
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
