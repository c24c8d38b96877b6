"""Several hosts on one machine, for the tests: Linux namespaces, joined by a switch with a cable to each.

A host has its own network, host name, shared memory and folder (`Network.folder`, the same path on all of them); the
rest of the file system is the machine's. Nothing outside is changed, and all of it is removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

_HOLD = "echo ready; exec cat >/dev/null"
"""Command of the process that keeps a namespace: it ends with its standard input."""


def why_not() -> str:
    """The reason why such hosts are impossible here; empty: they are possible."""
    if os.geteuid() != 0:
        return "hosts as network namespaces: only root can make them"
    command = (
        "ip link add name b0 type bridge && ip link add name v0 type veth peer name v1 && mount -t tmpfs none /dev/shm"
    )
    try:
        tried = subprocess.run(
            ["unshare", "--net", "--mount", "--uts", "sh", "-c", command], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"hosts as network namespaces: {error}"
    return f"hosts as network namespaces: {tried.stderr.strip()}" if tried.returncode else ""


class Host:
    """One host; made by `Network.add`."""

    def __init__(self, network: Network, number: int) -> None:
        self.name = f"host-{number}"
        self.address = f"10.77.0.{number}"
        self._network = network
        self._cable = f"cable{number}"
        script = f"hostname {self.name}; mount -t tmpfs none {network.folder}; mount -t tmpfs none /dev/shm; {_HOLD}"
        self._holder = _hold(["unshare", "--net", "--mount", "--uts", "sh", "-ec", script])
        network.ip(f"link add name {self._cable} type veth peer name eth0 netns {self._holder.pid}")
        network.ip(f"link set {self._cable} master switch up")
        for command in ("link set lo up", f"addr add {self.address}/24 dev eth0", "link set eth0 up"):
            subprocess.run([*self.enter(), "ip", *command.split()], check=True)

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], *, piped: bool = False
    ) -> subprocess.Popen[str]:
        """Run ``command`` on this host; ``piped``: with pipes for its standard input and output."""
        stream = subprocess.PIPE if piped else subprocess.DEVNULL
        return subprocess.Popen(
            [*self.enter(), *command],
            env=dict(environment),
            cwd=ROOT,
            stdin=stream,
            stdout=stream,
            stderr=None if piped else subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def cut(self) -> None:
        """Pull the cable out."""
        self._network.ip(f"link set {self._cable} down")

    def mend(self) -> None:
        """Put the cable back."""
        self._network.ip(f"link set {self._cable} up")

    def processes(self, name: str = "") -> list[int]:
        """The ids of this host's processes; if ``name`` is given, only of those with that name."""
        return [pid for pid in _inside(self._holder.pid) if pid != self._holder.pid and name in ("", _name(pid))]

    def end(self) -> None:
        """Kill everything that runs here; the host goes with it."""
        while found := self.processes():
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        _let_go(self._holder)

    def enter(self) -> list[str]:
        """The prefix that runs a command on this host."""
        return ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--uts", "--"]


class Network:
    """The switch and its hosts. `close` it."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="gh-", dir="/tmp")  # short: it holds the names of Unix sockets
        self.hosts: list[Host] = []
        self._holder = _hold(
            ["unshare", "--net", "sh", "-ec", f"ip link add name switch type bridge; ip link set switch up; {_HOLD}"]
        )

    def add(self) -> Host:
        host = Host(self, len(self.hosts) + 1)
        self.hosts.append(host)
        return host

    def ip(self, command: str) -> None:
        """Run ``ip`` at the switch."""
        subprocess.run(["nsenter", "--target", str(self._holder.pid), "--net", "ip", *command.split()], check=True)

    def close(self) -> None:
        for host in self.hosts:
            host.end()
        _let_go(self._holder)
        Path(self.folder).rmdir()


def _hold(command: list[str]) -> subprocess.Popen[str]:
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n", f"{command} failed"
    return holder


def _let_go(holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.close()
    holder.stdout.close()
    holder.wait(5)


def _inside(holder: int) -> Iterator[int]:
    """Every process that shares the holder's network."""
    network = os.readlink(f"/proc/{holder}/ns/net")
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "ns/net") == network and _state(entry) not in "ZX":
                yield int(entry.name)


def _state(process: Path) -> str:
    return (process / "stat").read_text().rpartition(")")[2].split()[0]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
