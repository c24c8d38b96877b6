"""The fleet in virtual time: the same coordinator, N engines, no Ray, no network, no clock; exact and repeatable.

A virtual node searches ``nps`` nodes in a virtual second: a line that its engine reports after n nodes arrives
n / nps seconds after the job did. Time goes on in slices: in each, the engines run one after the other as far as the
slice allows (`worker.engine.Steppable`), and at its end those that share their tables exchange what is new. What
happens within a slice is handled in its order; a stop or a newer job then finds an engine a slice ahead at most, and
what it found beyond is thrown away, as a real node would never have found it.

An engine that cannot be driven by steps (an external one) runs to the end of its job's limits when it gets the job.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cluster.api import Decision, FleetError, Progress, SearchRequest
from cluster.chooser import standard_table
from cluster.coordinator import Coordinator
from cluster.events import (
    Decide,
    Event,
    LogEvent,
    NodeJoined,
    NodeLost,
    Publish,
    Received,
    SendJob,
    Start,
    StopNode,
    Tick,
)
from cluster.settings import Settings
from cluster.virtual_node import Run, VirtualNode, exchange
from worker.engine import SharesTable

_LONE_SLICE_MS: Final = 1000
"""Of a node without others; it only bounds how far beyond its stop a search runs."""
SLICE_MS: Final = 32
"""A thirty-second of the virtual second: how late what one node finds reaches the others at most. On real nodes it took
9 to 15 ms in the median (``docs/operation.md``)."""


@dataclass(slots=True)
class VirtualFleet:
    """N virtual nodes under one coordinator. ``now_ms`` is the virtual time, which goes on from search to search."""

    nodes: Sequence[VirtualNode]
    settings: Settings = field(default_factory=Settings)
    now_ms: int = 0
    slice_ms: int = SLICE_MS
    log: list[tuple[int, LogEvent]] = field(default_factory=list)
    """What happened in the last search, with its virtual time."""
    progress: list[Progress] = field(default_factory=list)
    """What was published in the last search."""
    _coordinator: Coordinator = field(init=False)
    _by_id: dict[str, VirtualNode] = field(init=False)
    _runs: dict[str, Run] = field(init=False, default_factory=dict)
    """The jobs that run by steps."""
    _horizon_ms: int = field(init=False, default=0)
    """How far those have come: the end of the present slice."""
    _queue: list[tuple[int, int, Event]] = field(init=False, default_factory=list)
    _order: itertools.count[int] = field(init=False, default_factory=itertools.count)
    _sharers: list[list[SharesTable]] = field(init=False, default_factory=list)
    """Engines that can use each other's table entries; empty where nothing is shared."""

    def __post_init__(self) -> None:
        self._coordinator = Coordinator(self.settings, standard_table())
        self._by_id = {node.node_id: node for node in self.nodes}
        for node in self.nodes:
            self._coordinator.handle(node.joins(), self.now_ms)
        alike: defaultdict[str, list[SharesTable]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node.engine, SharesTable):
                alike[node.engine.entries_meaning()].append(node.engine)
        for engines in alike.values():
            shares = self.settings.share_depth and len(engines) > 1
            for engine in engines:
                engine.share(self.settings.share_depth if shares else None)
            if shares:
                self._sharers.append(engines)
        if len(self.nodes) == 1:
            self.slice_ms = _LONE_SLICE_MS

    def new_game(self) -> None:
        """Tell every engine that a new game begins."""
        for node in self.nodes:
            node.engine.new_game()
        for engines in self._sharers:
            for engine in engines:
                engine.take_entries()

    def search(self, request: SearchRequest, faults: Sequence[tuple[int, NodeJoined | NodeLost]] = ()) -> Decision:
        """Search to the decision.

        Args:
            faults: nodes that leave or come back (`VirtualNode.joins`), each with its time in milliseconds after the
                start.

        Raises:
            ValueError: as `Coordinator.handle`.
            FleetError: the request has no limit at all: in virtual time nothing would ever stop it.
        """
        if request.hard_ms is None and request.nodes is None and request.depth is None:
            raise FleetError("a search in virtual time needs a limit: hard_ms, nodes or depth")
        self.log, self.progress, self._queue = [], [], []
        start = self._horizon_ms = self.now_ms
        for after_ms, fault in faults:
            self._put(start + after_ms, fault)
        try:
            decision = self._handle(Start(request))
            while decision is None:
                decision = self._handle(self._next())
        finally:
            for node_id in list(self._runs):
                self._end(node_id)
        return decision

    def _next(self) -> Event:
        """Go on to the next event, slice by slice."""
        while True:
            wake = self._coordinator.wake_ms(self.now_ms)
            due = [time for time in (self._queue[0][0] if self._queue else None, wake) if time is not None]
            if self._runs and (not due or min(due) > self._horizon_ms):
                self._slice()
            elif not due:
                raise FleetError("the coordinator waits for something that cannot come")
            elif self._queue and self._queue[0][0] == min(due):
                self.now_ms, _, event = heapq.heappop(self._queue)
                return event
            else:
                self.now_ms = min(due)
                return Tick()

    def _slice(self) -> None:
        """All engines run to the next horizon; then those that share exchange what is new."""
        self._horizon_ms += self.slice_ms
        for node_id in list(self._runs):
            self._advance(node_id)
        for engines in self._sharers:
            exchange(engines)

    def _advance(self, node_id: str) -> None:
        run = self._runs[node_id]
        for time_ms, message in run.advance(self._horizon_ms):
            self._put(time_ms, Received(message))
        if run.over:
            self._end(node_id)

    def _end(self, node_id: str) -> None:
        run = self._runs.pop(node_id, None)
        if run is not None:
            run.close()

    def _put(self, time_ms: int, event: Event) -> None:
        heapq.heappush(self._queue, (time_ms, next(self._order), event))

    def _handle(self, event: Event) -> Decision | None:
        decided = None
        if isinstance(event, NodeLost):
            self._end(event.node_id)
        for instruction in self._coordinator.handle(event, self.now_ms):
            match instruction:
                case SendJob(node_id, job):
                    self._end(node_id)
                    self._runs[node_id] = Run(self._by_id[node_id], job, self.now_ms)
                    self._advance(node_id)
                case StopNode(node_id, _):
                    self._end(node_id)
                case Decide(decision):
                    decided = decision
                case Publish(progress):
                    self.progress.append(progress)
                case LogEvent():
                    self.log.append((self.now_ms, instruction))
        return decided
