"""The state of a fleet as its master sees it: nodes, losses, the last decision; in a file that only its user can read.

The master writes ``master-PID.json`` (mode 600) in a private folder: the one named by ``GOUGI_RUN_DIR``, else one in
``XDG_RUNTIME_DIR``, else this user's in the folder for temporary files. `masters` reads these files; a file whose
process is gone is ignored and removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from cluster.api import Decision, Listener, NodeView, Progress, SearchListener
from cluster.coordination.events import FALLBACK
from cluster.machine.presence import RUN_DIR
from cluster.machine.processes import started
from worker.files import replace_file
from worker.trust import only_ours

_LOSSES_KEPT: Final = 50
_EVERY_S: Final = 0.5
"""Seconds between two writes of the file while a search runs; fleet events are written at once."""


class FleetState:
    """State of a fleet, collected from its events. Pure; times are seconds since 1970.

    ``ray`` is empty for a fleet of one machine, which does not use Ray.
    """

    def __init__(self, name: str, began: float) -> None:
        self._head: dict[str, Any] = {"name": name, "began": began, "ray": "", "address": ""}
        self._nodes: dict[str, dict[str, Any]] = {}
        self._losses: deque[dict[str, Any]] = deque(maxlen=_LOSSES_KEPT)
        self._lost = 0
        self._decision: dict[str, Any] | None = None
        self._searching = False

    def on_event(self, name: str, fields: dict[str, object], now: float) -> bool:
        """Take a fleet event; returns whether it changes the status."""
        node = str(fields.get("node", ""))
        if node == FALLBACK:
            return False
        match name:
            case "ray_starting":
                self._head["ray"] = "starting"
            case "ray_started":
                self._head |= {"ray": "running", "address": fields["address"], "capacity": fields["capacity"]}
            case "ray_lost":
                self._head["ray"] = f"lost: {fields['why']}"
            case "node_starting":
                self._node(node)["state"] = "starting"
            case "node_ready":
                self._node(node).update({key: fields[key] for key in ("host", "pid", "engine")})
            case "node_joined":
                self._node(node)["state"] = "ready"
            case "node_lost":
                self._node(node).update(state="lost", job="", lost=self._node(node)["lost"] + 1)
                self._lost += 1
                self._losses.append({"at": now, "node": node, "why": str(fields.get("reason", ""))})
            case _:
                return False
        return True

    def on_progress(self, progress: Progress) -> None:
        """Update the running search."""
        self._searching = True
        self._see(progress.fleet)

    def on_decision(self, decision: Decision, now: float) -> None:
        """Note the end of a search."""
        self._searching = False
        self._see(decision.fleet)
        for node in self._nodes.values():
            node["job"] = ""
        self._decision = {
            "at": now,
            "move": decision.move,
            "score": decision.score,
            "depth": decision.depth,
            "nodes": decision.nodes,
            "ms": decision.elapsed_ms,
            "source": decision.source,
            "pv": list(decision.pv),
        }

    def facts(self) -> dict[str, Any]:
        """The whole state, for JSON: scores from the side to move, nps of each node's last search."""
        nodes = [
            {"node": name, **node} for name, node in sorted(self._nodes.items(), key=lambda item: by_number(item[0]))
        ]
        return {
            **self._head,
            "searching": self._searching,
            "nodes": nodes,
            "nps": sum(node["nps"] for node in nodes if node["state"] == "ready"),
            "losses": self._lost,
            "last_losses": list(self._losses),
            "decision": self._decision,
        }

    def _see(self, fleet: tuple[NodeView, ...]) -> None:
        for view in fleet:
            if view.node_id != FALLBACK:
                state = "ready" if view.alive else "lost"
                self._node(view.node_id).update(state=state, job=view.job, depth=view.depth, nps=view.nps)

    def _node(self, node: str) -> dict[str, Any]:
        empty = {"state": "starting", "host": "", "pid": 0, "engine": "", "job": "", "depth": 0, "nps": 0, "lost": 0}
        return self._nodes.setdefault(node, empty)


_told: Final[dict[str, str]] = {}
_files: Final[set[StatusFile]] = set()


def tell(**facts: str) -> None:
    """Add a fact about this process to the status, such as the address of its live page; from any thread."""
    _told.update(facts)
    for file in tuple(_files):
        file.write()


class StatusFile:
    """Keeps the file of this process's fleet up to date. A separate thread writes to the disk: no search waits for it.

    Args:
        name: the player's name.
    """

    def __init__(self, name: str) -> None:
        self._state = FleetState(name, time.time())
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="status")
        self._path: Path | None = None
        self._next = 0.0

    def watching(self, listener: Listener) -> Listener:
        """A listener that passes everything on to ``listener`` and updates the file. A failed write becomes an
        event."""

        def on_event(name: str, fields: dict[str, object]) -> None:
            listener.on_event(name, fields)
            if self._state.on_event(name, fields, time.time()):
                self.write()

        def on_progress(progress: Progress) -> None:
            listener.searches.on_progress(progress)
            self._state.on_progress(progress)
            if time.monotonic() >= self._next:
                self.write()

        def on_decision(decision: Decision) -> None:
            listener.searches.on_decision(decision)
            self._state.on_decision(decision, time.time())
            self.write()

        try:
            self._path = folder() / f"master-{os.getpid()}.json"
            _files.add(self)
        except OSError as error:
            listener.on_event("status_not_written", {"error": str(error)})
        return Listener(on_event, SearchListener(on_progress, on_decision, listener.searches.on_pondered))

    def close(self) -> None:
        """Remove the file. Idempotent."""
        path, self._path = self._path, None
        _files.discard(self)
        # Wait for a write that is under way: it would create the file again.
        self._thread.shutdown(wait=True, cancel_futures=True)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                forget_the_dead()

    def write(self) -> None:
        """Write the file with the current state."""
        self._next = time.monotonic() + _EVERY_S
        path = self._path
        if path is None:
            return
        facts = {"pid": os.getpid(), "started": started(os.getpid()), "at": time.time(), **_told, **self._state.facts()}

        def write() -> None:
            with contextlib.suppress(OSError):  # the next write may succeed; no move depends on it
                if self._path is not None:
                    folder()  # the last process with a file in it may have removed it
                    replace_file(path, json.dumps(facts).encode(), mode=0o600)

        with contextlib.suppress(RuntimeError):  # the thread is closed, and so is the fleet
            self._thread.submit(write)


def folder() -> Path:
    """The private folder, made if it is missing.

    Raises:
        OSError: it cannot be made, belongs to another user, or is readable by others.
    """
    if named := os.environ.get(RUN_DIR):
        return only_ours(Path(named), RUN_DIR)
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(runtime) / "gougi"
    else:
        path = Path(tempfile.gettempdir()) / f"gougi-status-{os.getuid()}"
    return only_ours(path)


def sweep() -> None:
    """`forget_the_dead`, if possible; otherwise a later call removes the files."""
    with contextlib.suppress(OSError):
        forget_the_dead()


def forget_the_dead() -> None:
    """Remove the files of masters that were killed, and our folder if no master has a file in it.

    Raises:
        OSError: as `folder`.
    """
    masters()
    place = folder()
    if place.parent == Path(tempfile.gettempdir()):
        with contextlib.suppress(OSError):  # another process has a file in it
            place.rmdir()


def _is_current(facts: Any) -> bool:
    """Whether the process that wrote this still lives. Raises ValueError if it is not a master's state."""
    try:
        return bool(started(int(facts["pid"])) == facts["started"])
    except (KeyError, TypeError) as error:
        raise ValueError("no master's facts") from error


def masters() -> list[dict[str, Any]]:
    """The state files of this user's masters on this machine, the oldest first. Raises OSError as `folder` does."""
    found = []
    for path in folder().glob("master-*.json"):
        with contextlib.suppress(OSError, ValueError):
            facts = json.loads(path.read_text(encoding="utf-8"))
            if _is_current(facts):
                found.append(facts)
            else:
                path.unlink(missing_ok=True)
    return sorted(found, key=lambda facts: (facts["began"], facts["pid"]))


def by_number(node: str) -> tuple[int, str]:
    """Sorts nodes: ``node-2`` before ``node-10``."""
    number = node.rpartition("-")[2]
    return (int(number) if number.isdigit() else 1 << 30, node)
