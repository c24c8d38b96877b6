"""Sharing between hosts: over their own addresses, and with a cable that is cut and mended."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
import zmq

from tests.cluster.namespaces import Host, Network, why_not

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


class Node:
    """A `tests.cluster.sharing_host` on a host, and the entries that it got."""

    def __init__(self, host: Host, number: int, keys: list[tuple[bytes, bytes]], master: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "tests.cluster.sharing_host"]
        self._process: subprocess.Popen[str] = host.start(command, environment, piped=True)
        self.host = host
        self.heard: queue.Queue[tuple[int, int]] = queue.Queue()
        public = [key.decode() for key, _ in keys]
        self._say({"number": number, "keys": public, "secret": keys[number][1].decode(), "master": master})
        self.number = number
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        threading.Thread(target=self._listen, daemon=True).start()

    def listen_to(self, *others: Node) -> None:
        self._say([(other.number, other.url) for other in others])

    def hears(self, number: int, timeout_s: float = 20.0) -> int:
        """Wait for an entry that the node stores from now on; returns its number."""
        while not self.heard.empty():
            self.heard.get()
        end = time.monotonic() + timeout_s
        while True:
            sender, count = self.heard.get(timeout=max(0.01, end - time.monotonic()))
            if sender == number:
                return count

    def hears_no_more(self, number: int) -> None:
        """Wait until a second passes without an entry of that node."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.hears(number, 1.0)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(20) == 0

    def _say(self, value: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            sender, count = line.split()
            self.heard.put((int(sender), int(count)))


@pytest.fixture
def nodes() -> Iterator[list[Node]]:
    if why := why_not():
        pytest.skip(why)
    network = Network()
    try:
        keys = [zmq.curve_keypair() for _ in range(4)]
        hosts = [network.add() for _ in range(3)]
        master = f"tcp://{hosts[0].address}:9"
        nodes = [Node(host, number, keys, master) for number, host in enumerate(hosts)]
        for node in nodes:
            node.listen_to(*(other for other in nodes if other is not node))
        yield nodes
        for node in nodes:
            node.close()
    finally:
        network.close()


def test_nodes_on_several_hosts_hear_each_other_and_again_after_a_cut(nodes: list[Node]) -> None:
    a, b, c = nodes
    assert [node.url.rpartition(":")[0] for node in nodes] == [f"tcp://{node.host.address}" for node in nodes]
    for node, other in ((a, 1), (a, 2), (b, 0), (b, 2), (c, 0), (c, 1)):
        node.hears(other)
    b.host.cut()
    a.hears_no_more(1)
    first = a.hears(2)
    assert c.hears(0)
    b.host.mend()
    a.hears(1)
    b.hears(2)
    assert a.hears(2) > first
