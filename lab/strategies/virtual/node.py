"""One node of the fleet in virtual time: an engine, how fast its machine is, and the job that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec import structs

from cluster.coordination.events import NodeJoined
from cluster.network.messages import Done, Job, Report
from lab.strategies.virtual.steps import Steps
from worker.engine import Engine, EngineError, SearchInfo, SearchResult, SharesTable
from worker.search.engine import NumbaEngine

_ENDLESS: Final = 1 << 50
"""More nodes than any search has."""


@dataclass(slots=True)
class VirtualNode:
    """An engine and how fast its machine is (virtual nodes a second). ``delay_ms``: of each message to the master."""

    node_id: str
    engine: Engine
    nps: int = 1_000_000
    delay_ms: int = 0

    def joins(self) -> NodeJoined:
        """The event by which it joins, as `cluster.drivers.fleet` makes it of a real node."""
        return NodeJoined(self.node_id, self.engine.name[:128], self.engine.can_split, self.nps)


class Run:
    """A job on a virtual node, as far as virtual time has come. An engine that cannot be driven by steps is at the end
    of its job from the beginning."""

    def __init__(self, node: VirtualNode, job: Job, now_ms: int) -> None:
        self._node = node
        self._job = job
        self._began_ms = now_ms
        self._infos: list[SearchInfo] = []
        self._told = 0
        self._search: Steps | None = None
        self._result: SearchResult | None = None
        self._error = ""
        self.over = False
        limits = _in_nodes(job, node.nps).limits()
        try:
            node.engine.rules = job.rules(node.engine.rules)
            node.engine.set_position(job.sfen, job.moves)
            if isinstance(node.engine, NumbaEngine):
                self._search = Steps(node.engine, limits, self._infos.append)
            elif limits.nodes == _ENDLESS:
                raise EngineError(
                    f"{node.engine.name} cannot be driven by steps, and nothing else would end this search"
                )
            else:
                self._result = node.engine.go(limits, self._infos.append)
        except EngineError as error:
            self._error = str(error)[:1000] or "engine error"

    def advance(self, until_ms: int) -> list[tuple[int, Report | Done]]:
        """Search until the virtual time ``until_ms``. Returns the new messages and when each reaches the master."""
        if self._search is not None:
            self._step(self._search, (until_ms - self._began_ms) * self._node.nps // 1000)
        if self._result is not None:
            # The time does not count here: it is the clock's, on which nothing of this may depend.
            told = [replace(info, time_ms=0) for info in self._infos]
            self._infos += [line for line in self._result.lines if replace(line, time_ms=0) not in told]
        messages: list[tuple[int, Report | Done]] = [
            (self._arrival_ms(info.nodes), self._report(info)) for info in self._infos[self._told :]
        ]
        self._told = len(self._infos)
        if not self._error and self._result is None:
            return messages
        self.over = True
        nodes = self._result.nodes if self._result is not None else 0
        job, time_ms = self._job, nodes * 1000 // self._node.nps
        done = Done(self._node.node_id, job.search_id, job.job_id, nodes, time_ms, self._error)
        return [*messages, (self._arrival_ms(nodes), done)]

    def close(self) -> None:
        """End the search, wherever it is."""
        if self._search is not None:
            self._search.close()

    def _step(self, search: Steps, nodes: int) -> None:
        try:
            if search.run_to(nodes):
                self._result = search.result()
        except EngineError as error:
            self._error = str(error)[:1000] or "engine error"

    def _arrival_ms(self, nodes: int) -> int:
        return self._began_ms + nodes * 1000 // self._node.nps + self._node.delay_ms

    def _report(self, info: SearchInfo) -> Report:
        return Report.of(self._node.node_id, self._job, replace(info, time_ms=info.nodes * 1000 // self._node.nps))


def exchange(engines: Sequence[SharesTable]) -> None:
    """Every engine takes over what the others wrote since the last time."""
    fresh = [engine.take_entries() for engine in engines]
    for number, engine in enumerate(engines):
        others = [entries for other, entries in enumerate(fresh) if other != number and len(entries)]
        if others:
            engine.absorb_entries(np.concatenate(others))


def _in_nodes(job: Job, nps: int) -> Job:
    """The job with its time limit turned into nodes, and an endless one into one that at least ends at its last depth:
    there is nobody in virtual time to wait for its stop."""
    if job.movetime_ms is None:
        return job if job.nodes is not None or job.depth is not None else structs.replace(job, nodes=_ENDLESS)
    nodes = max(1, job.movetime_ms * nps // 1000)
    limit = nodes if job.nodes is None else min(nodes, job.nodes)
    return structs.replace(job, movetime_ms=None, nodes=limit)
