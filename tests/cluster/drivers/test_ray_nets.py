"""A network that only the master's machine has, on a Ray cluster of several hosts: each machine gets it once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.random_networks import random_network
from cluster.node.sent_nets import copies_folder
from tests.cluster.namespaces import Host, why_not
from tests.cluster.ray_hosts import HEALTH_CHECKS, Fleet
from worker.nnue.architecture import Architecture
from worker.nnue.features import HALF_KP
from worker.nnue.format import serialise_network

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.usefixtures("warm")]


class NetFleet(Fleet):
    """Every host has its own folder, of limited size, for copies of networks; they share the compiled code."""

    room = "64M"

    def __init__(self) -> None:
        super().__init__()
        for name in HEALTH_CHECKS:  # on a busy machine a raylet that answers late restarts, and no machine dies here
            del self.environment[name]
        self.environment["RAY_raylet_start_wait_time_s"] = "120"
        self.copies = copies_folder()
        self.copies.mkdir(0o700, exist_ok=True)

    def at_host(self, host: Host) -> None:
        mount = ["mount", "-t", "tmpfs", "-o", f"mode=700,size={self.room}", "none", str(self.copies)]
        assert host.start(mount, self.environment).wait(5) == 0

    def inside(self, host: Host, path: str) -> Path:
        """A path of that host, as seen from here."""
        return Path(f"/proc/{host._holder.pid}/root{path}")


def test_a_network_is_sent_once_to_each_machine() -> None:
    """A machine of two nodes gets one copy of 32 MB in four parts. One that joins later has a full disk, and reports
    so."""
    if why := why_not():
        pytest.skip(why)
    fleet = NetFleet()
    try:
        path = f"{fleet.network.folder}/nn.bin"  # each host has its own file system there
        net = fleet.inside(fleet.head, path)
        net.write_bytes(serialise_network(random_network(Architecture(HALF_KP, 128, 8, 32))))
        content = net.read_bytes()
        fleet.open([2], path)
        assert fleet.event("net_there", 300)["path"].startswith(str(fleet.copies))
        for node in ("node-1", "node-2"):
            assert fleet.event("node_ready", 120, node=node)["engine"] == "gougi"
        (copy,) = fleet.inside(fleet.network.hosts[1], str(fleet.copies)).glob("*/*")
        assert copy.read_bytes() == content
        fleet.search()
        assert fleet.decision()["source"] == "split"
        fleet.room = "8M"
        host = fleet.join()
        failed = fleet.event("node_failed", 300)
        assert failed["node"] == "node-3"
        start = f"the network cannot be sent: {host.name}: nn.bin ({len(content) >> 20} MB): "
        assert failed["why"] == f"{start}{fleet.copies}: no space left on the disk"
        fleet.search()
        assert fleet.decision()["source"] == "split"
    except BaseException:
        fleet.network.close()
        raise
    fleet.close()
