"""The fallback: a node without a vote, in a process of its own on the master's machine, which answers if no node does.

It is a process and not a thread: an engine that crashes, or holds Python's lock, cannot hurt the master. It is kept by
the master alone: it is for the case that every node is gone, and Ray with them.

While nodes live its searches have the lowest priority; the moment it is the only one left they have the usual one, or a
busy machine would starve it (`cluster.coordination.jobs.fallback_job`). Priorities count within a session only if the
kernel shares the cores between sessions (``sched_autogroup``), and nodes have sessions of their own: so on their
machine it begins only if they bring no line soon, and its work is bounded.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable

from cluster.machine.processes import child_environment
from cluster.node.kept_process import KeptProcess
from cluster.node.process import NodeSpec


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
