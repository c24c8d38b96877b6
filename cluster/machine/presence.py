"""The node processes of one machine, for the machine's own services: a small file for each, in one folder.

Ray knows its actors and the master knows its nodes; a service that watches the *machine* (`cluster.node.departure`)
knows neither. It must find out which processes to send away and whether the master has dismissed them. If the
environment names a folder (``GOUGI_RUN_DIR``, systemd's ``RuntimeDirectory=``), each node process keeps a file there; a
file whose process is gone is ignored and removed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from cluster.machine.processes import started
from worker.files import replace_file
from worker.trust import only_ours

RUN_DIR: Final = "GOUGI_RUN_DIR"
"""The variable that names the folder."""


class NodeState(StrEnum):
    SERVING = "serving"
    """It can search."""
    LEAVING = "leaving"
    """It has asked for its dismissal."""
    DISMISSED = "dismissed"
    """The master has given its work to others: the machine can go."""


@dataclass(frozen=True, slots=True)
class NodePresence:
    """One node process.

    ``started`` is its start in the kernel's clock ticks since boot: the same process id with another start is another
    process, which must not get signals meant for this one. ``nps``: nodes a second in its first search.
    """

    pid: int
    started: int
    node_id: str
    nps: int
    state: NodeState = NodeState.SERVING


class Presence:
    """A node process's own file. Made by `enter`."""

    def __init__(self, folder: Path, node: NodePresence) -> None:
        self._path = folder / f"node-{node.pid}.json"
        self._node = node
        self._lock = threading.Lock()
        self._write()

    @classmethod
    def enter(cls, node_id: str, nps: int) -> Presence | None:
        """Announce this process; None if the environment names no folder.

        Raises:
            OSError: the folder is not writable, or other users can write to it.
        """
        named = os.environ.get(RUN_DIR)
        if not named:
            return None
        folder = only_ours(Path(named), RUN_DIR)
        return cls(folder, NodePresence(os.getpid(), started(os.getpid()), node_id, nps))

    def now(self, state: NodeState) -> None:
        """Record its state; from any thread. A dismissed process stays dismissed.

        Raises:
            OSError: the file cannot be written.
        """
        with self._lock:
            if self._node.state is not NodeState.DISMISSED:
                self._node = replace(self._node, state=state)
                self._write()

    def leave(self) -> None:
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        replace_file(self._path, msgspec.json.encode(self._node))


def present(folder: Path) -> tuple[NodePresence, ...]:
    """The live node processes of this machine, by process id. They get signals, so other users must not be able to add
    entries.

    Raises:
        OSError: other users can write to the folder.
    """
    found = []
    only_ours(folder, RUN_DIR)
    for path in folder.glob("node-*.json"):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            node = msgspec.json.decode(path.read_bytes(), type=NodePresence)
            if started(node.pid) == node.started:
                found.append(node)
            else:
                path.unlink(missing_ok=True)
    return tuple(sorted(found, key=lambda node: node.pid))
