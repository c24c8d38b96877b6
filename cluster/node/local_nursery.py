"""The nursery on the master's own machine: the master starts it, and starts it again where it was killed."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable

from cluster.network.frames import frame
from cluster.node.kept_process import KeptProcess
from cluster.node.nursery_link import Begin, command
from cluster.node.process import NodeSpec


class LocalNursery(KeptProcess):
    """Keeps the nursery running. Its end is that of all nodes; those that the master has told to end have a second.

    Args:
        run: the master's run.
        on_event: told of ``nursery_lost`` with the last words of one that ended.
    """

    pause_s, longest_pause_s, good_life_s = 0.05, 5.0, 10.0
    closing_s = 4.0
    own_session = True

    def __init__(self, run: str, on_event: Callable[[str, dict[str, object]], None]) -> None:
        super().__init__(*command(), lambda why: on_event("nursery_lost", {"why": why}))
        self._run = run
        self._nodes: dict[str, bytes] = {}
        self._session: int | None = None

    def start(self, spec: NodeSpec) -> None:
        """Have that node live from now on."""
        self._nodes[spec.node_id] = pickle.dumps(spec)
        self._tell("start", spec.node_id, self._nodes[spec.node_id])

    def ends_with_us(self, session: int) -> None:
        """Have that session end with the master, however the master ends; nothing is left of an earlier session."""
        self._session = session
        self._tell("session", session)

    def _begin(self, to: asyncio.StreamWriter) -> None:
        to.write(frame(Begin(self._run, local=True)))
        if self._session is not None:
            self._tell("session", self._session)
        for node_id, spec in self._nodes.items():
            self._tell("start", node_id, spec)

    def _tell(self, *order: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(frame(order))
