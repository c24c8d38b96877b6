"""The fork server of a fleet of one machine: the master starts it, and starts it again if it was killed."""

from __future__ import annotations

import asyncio
import pickle
import secrets
from collections.abc import Callable

from cluster.network.frames import frame
from cluster.node.fork_server_link import Begin, command
from cluster.node.kept_process import KeptProcess
from cluster.node.process import NodeSpec


class LocalForkServer(KeptProcess):
    """Keeps the fork server running. Its end is that of all nodes; those that the master has told to end have a second.

    Args:
        on_event: told of ``fork_server_lost`` with the last words of one that ended.
    """

    pause_s, longest_pause_s, good_run_s = 0.05, 5.0, 10.0
    closing_s = 4.0
    own_session = True

    def __init__(self, on_event: Callable[[str, dict[str, object]], None]) -> None:
        super().__init__(*command(), lambda why: on_event("fork_server_lost", {"why": why}))
        self.run = secrets.token_hex(8)
        """The master's run: a fork server finds the nodes of the one before it by that."""
        self._nodes: dict[str, bytes] = {}

    def start(self, spec: NodeSpec) -> None:
        """Have that node live from now on."""
        self._nodes[spec.node_id] = pickle.dumps(spec)
        self._tell("start", spec.node_id, self._nodes[spec.node_id])

    def _begin(self, to: asyncio.StreamWriter) -> None:
        to.write(frame(Begin(self.run, local=True)))
        for node_id, spec in self._nodes.items():
            self._tell("start", node_id, spec)

    def _tell(self, *order: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(frame(order))
