"""A fleet of this machine, with Ray and all, is nobody else's: no other user, no other machine gets to it."""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.coordination.settings import Settings
from cluster.drivers.ray_cluster import _LONGEST_PARENT
from tests.cluster.processes import family
from tests.cluster.ray_fleet import OpenFleet, open_fleet
from tests.users import NOBODY, as_nobody, as_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]

_LISTENS = "0A"
TRIES = """
id -u
for file; do
    cat "$file"
    test -e "$file" && echo seen
    echo x >>"$file" && echo written
    touch "$file.his" && echo made
    rm -f "$file" && echo removed
done
"""
"""Says what it can do with files, and with the folders in which they lie. Their times say nothing: Ray writes there."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[OpenFleet]:
    with open_fleet(2, Settings()) as fleet:
        fleet.run(fleet.there(lambda: len(fleet.nodes) == 2 and "fallback" in fleet.searcher.live))
        fleet.run(fleet.event("ray_started", timeout_s=90))  # nodes do not wait for it
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
    assert set(fleet.ray["processes"].values()) <= pids
    found = listening(pids)
    assert set(found.values()) >= {fleet.ray["processes"]["raylet"], os.getpid()}
    assert {address.rpartition(":")[0] for address in found} == {"127.0.0.1"}, found


@as_root
def test_another_user_cannot_touch_rays_files(fleet: OpenFleet) -> None:
    folder = Path(str(fleet.ray["folder"]))
    assert folder.parent == Path(tempfile.gettempdir())
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sockets = sorted(path for path in folder.rglob("*") if path.is_socket())
    assert files and sockets
    slack = max(len(str(path)) for path in sockets) - len(str(folder.parent))
    assert slack + _LONGEST_PARENT <= 107, "a folder with a name of that length would be too long for a socket"
    tries = as_nobody(TRIES, *files, *sockets)
    assert tries.stdout.split() == [str(NOBODY)]
    assert all(path.exists() for path in (*files, *sockets))


def test_what_another_user_can_touch_is_told(tmp_path: Path) -> None:
    """Else nothing were shown by what he is not told of Ray's files."""
    file = tmp_path / "file"
    file.write_text("secret\n")
    tries = subprocess.run(["sh", "-c", TRIES, "sh", str(file)], capture_output=True, text=True, check=False)
    assert tries.stdout.split()[1:] == ["secret", "seen", "written", "made", "removed"]
