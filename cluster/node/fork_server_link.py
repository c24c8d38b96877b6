"""The connection to a machine's fork server (`cluster.node.fork_server`) and to its nodes: named sockets of this user
only.

The names lie in the machine's abstract namespace (``man 7 unix``). A name belongs to a process and is released when the
process ends. So the name shows whether the process is alive; no stale file remains, and no process number that has been
reused. The kernel tells which user's process is at the other end.

- ``gougi-RUN-forks``: the one fork server that a master's run has on this machine. A client sends requests as frames
  (`cluster.network.frames`) and gets one reply to each.
- ``gougi-RUN-node-N``: held by that node's process while it lives. No data passes over it.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster.machine.processes import child_environment
from cluster.network.frames import Frames, frame

_CREDENTIALS: Final = struct.Struct("3i")
_LONGEST_START_S: Final = 600.0
"""A fork server may have to compile first, on a slow and busy machine."""
_AGAIN_S: Final = 5.0
"""Seconds without a fork server after which another one is started."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A fork server's first order, over standard input."""

    run: str
    """The master's run: it is part of all names."""
    local: bool
    """Whether the master is the parent: if so, the fork server and all nodes end when standard input closes. Otherwise
    it lives for the supervisors, longer than the process that started it.
    """


def fork_server_name(run: str) -> str:
    return f"\0gougi-{run}-forks"


def node_name(run: str, node_id: str) -> str:
    return f"\0gougi-{run}-{node_id}"


def running_nodes(run: str) -> list[str]:
    """The ids of that run's nodes on this machine, in order."""
    start = f"@gougi-{run}-"
    found = set()
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines():
        name = line.split()[-1]
        if name.startswith(f"{start}node-"):
            found.add(name.removeprefix(start))
    return sorted(found)


def peer_of(connection: socket.socket) -> int:
    """The process at the other end, which listens or has connected.

    Raises:
        PermissionError: it is another user's.
    """
    pid, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    if user != os.geteuid():
        raise PermissionError(f"process {pid} of user {user} has taken a name of ours")
    return int(pid)


def holder(name: str) -> int | None:
    """The process that holds a name; None: no process does.

    Raises:
        PermissionError: another user's.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(name)
        except OSError:
            return None
        return peer_of(connection)


def command() -> tuple[list[str], dict[str, str]]:
    """The command that starts a fork server, and its environment: a library's threads would make forking unsafe."""
    environment = child_environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    return [sys.executable, "-m", "cluster.node.fork_server"], environment


class Link:
    """A connection to this machine's fork server, which is started if there is none. Calls block.

    Raises:
        OSError: there is none, and none can be started.
    """

    def __init__(self, run: str) -> None:
        self._frames = Frames()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        deadline = time.monotonic() + _LONGEST_START_S
        start_at = time.monotonic()
        while True:
            try:
                self._socket.connect(fork_server_name(run))
                break
            except OSError:
                if time.monotonic() > deadline:
                    self._socket.close()
                    raise
            if time.monotonic() >= start_at:
                _start(Begin(run, local=False))
                start_at = time.monotonic() + _AGAIN_S
            time.sleep(0.05)
        self.pid = peer_of(self._socket)

    def ask(self, *order: object) -> Any:
        """Send an order and return its reply.

        Raises:
            OSError: the fork server has ended.
        """
        self._socket.sendall(frame(order))
        while data := self._socket.recv(1 << 16):
            for reply in self._frames.take(data):
                return reply
        raise ConnectionError("the fork server has ended")

    def wait(self) -> None:
        """Wait until the fork server has ended."""
        while self._socket.recv(1 << 16):
            pass

    def close(self) -> None:
        self._socket.close()


def _start(begin: Begin) -> None:
    """Start a fork server that lives apart from this process; it ends at once if there already is one."""
    words, environment = command()
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    assert process.stdin is not None
    process.stdin.write(frame(begin))
    process.stdin.close()
    process.wait()
