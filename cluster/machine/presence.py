"""The node processes of one machine, as the machine's own services see them: a small file for each, in one folder.

Ray knows its actors and the master knows its nodes; a service that watches over the *machine*
(`cluster.node.departure`) is neither, and needs to know which processes to send away and whether the master has let
them go. Where the environment names a folder (``GOUGI_RUN_DIR``, systemd's ``RuntimeDirectory=``), each node process
keeps a file there; a file whose process is gone counts for nothing and is removed.
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
    """The master has dealt its work to others: the machine can go."""


@dataclass(frozen=True, slots=True)
class NodePresence:
    """One node process.

    ``started`` is its start in the kernel's clock ticks since boot: the same process id with another start is another
    process, and must not get this one's signals. ``nps``: nodes a second in its first search.
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
        """Say that this process is here; None where no folder is named.

        Raises:
            OSError: the folder cannot be written to, or others can.
        """
        named = os.environ.get(RUN_DIR)
        if not named:
            return None
        folder = only_ours(Path(named), RUN_DIR)
        return cls(folder, NodePresence(os.getpid(), started(os.getpid()), node_id, nps))

    def now(self, state: NodeState) -> None:
        """Say what has become of it; from any thread. Who was dismissed stays so.

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
    """The node processes of this machine that live, by process id; they get signals, so nobody else may name them.

    Raises:
        OSError: others can write to the folder.
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
