"""Who answers when no node does: the fallback, a node in a process of its own on the master's machine, and after it the
last resort, the master's own few plies.

The **fallback** has no vote. It is a process and not a thread: an engine that crashes, or holds Python's lock, cannot
hurt the master. It is kept by the master alone: it is for the case that every node is gone, and Ray with them.

While nodes live its searches have the lowest priority; the moment it is the only one left they have the usual one, or a
busy machine would starve it (`cluster.coordination.jobs.fallback_job`). Priorities count within a session only if the
kernel shares the cores between sessions (``sched_autogroup``), and nodes have sessions of their own: so on their
machine it begins only if they bring no line soon, and its work is bounded.

The **last resort** is for a move that nobody has an answer for: no node, no fallback, no line known. It runs in the
master's thread, at the moment when the move has to go out, so it is bounded to some milliseconds; its network is the
one that comes with the package, its table 1 MiB. One engine serves all searchers of a process.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cluster.machine.processes import child_environment
from cluster.node.kept_process import KeptProcess
from cluster.node.process import NodeSpec
from worker.engine import SearchInfo

if TYPE_CHECKING:
    from cluster.network.messages import Job
    from worker.search.engine import NumbaEngine

_log = logging.getLogger(__name__)

NODES: Final = 2000
"""Four to seven plies of a middle game; 3 to 6 ms of processor time."""
_MOST_MS: Final = 20
"""Time limit in ms, for a machine that is so busy that even this search takes long."""


class Fallback(KeptProcess):
    """Keeps the fallback's process running. It reports itself on the channel when it can search.

    Args:
        on_event: told of ``fallback_failed`` with the last words of a process that ended.
    """

    pause_s, longest_pause_s, good_run_s = 0.5, 10.0, 60.0
    closing_s = 1.0
    own_session = False

    def __init__(self, spec: NodeSpec, on_event: Callable[[str, dict[str, object]], None]) -> None:
        command = (sys.executable, "-m", "cluster.node.process")
        super().__init__(command, child_environment(), lambda why: on_event("fallback_failed", {"why": why}))
        self._spec = spec

    def _begin(self, to: asyncio.StreamWriter) -> None:
        to.write(pickle.dumps(self._spec))


class LastResort:
    """An engine that is loaded before it is needed. `search` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: NumbaEngine | None = None

    def load(self) -> None:
        """Make the engine, from code that is compiled already; takes half a second. More than once does no harm.

        Raises:
            EngineError: it cannot be made.
        """
        from worker.search.engine import NumbaEngine

        with self._lock:
            if self._engine is None:
                self._engine = NumbaEngine(hash_mb=1)

    def search(self, job: Job) -> SearchInfo | None:
        """Search the position of ``job`` for a few plies, by its rules and its moves to choose from.

        None where the engine is not loaded, or fails; never raises: a move has to go out.
        """
        with self._lock:
            if self._engine is None:
                return None
            try:
                self._engine.rules = job.rules(self._engine.rules)
                self._engine.set_position(job.sfen, job.moves)
                limits = replace(job.limits(), multipv=1, nodes=NODES, depth=None, movetime_ms=_MOST_MS)
                lines = self._engine.go(limits).lines
            except Exception:
                _log.exception("the last resort failed")
                return None
        return lines[0] if lines else None


LAST_RESORT: Final = LastResort()
"""The last resort of this process."""
