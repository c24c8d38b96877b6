"""A fleet of this machine is nobody else's: no other machine gets to it."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.coordination.settings import Settings
from tests.cluster.open_fleet import OpenFleet, open_fleet
from tests.cluster.processes import family

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]

_LISTENS = "0A"


@pytest.fixture(scope="module")
def fleet() -> Iterator[OpenFleet]:
    with open_fleet(2, Settings()) as fleet:
        fleet.run(fleet.there(lambda: len(fleet.nodes) == 2 and "fallback" in fleet.searcher.live))
        yield fleet


def listening(pids: set[int]) -> dict[str, int]:
    """The addresses, with ports, at which processes listen, and which process does."""
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


def test_what_listens_is_found() -> None:
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        found = listening({os.getpid()})
        assert found[f"0.0.0.0:{everywhere.getsockname()[1]}"] == os.getpid()


def test_nothing_listens_but_on_the_loopback(fleet: OpenFleet) -> None:
    pids = family(os.getpid())
    found = listening(pids)
    assert os.getpid() in found.values()
    assert {address.rpartition(":")[0] for address in found} == {"127.0.0.1"}, found
