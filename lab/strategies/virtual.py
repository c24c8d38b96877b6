"""The fleet in virtual time: the same coordinator, N engines, no Ray, no network, no clock; exact and repeatable.

A virtual node searches ``nps`` nodes in a virtual second: a line that its engine reports after n nodes arrives n / nps
seconds after the job did. Time advances in slices: in each, the engines run one after another as far as the slice
allows (`lab.strategies.steps`), and at its end those that share their tables exchange new entries. Events within a
slice are handled in order. A stop or a newer job then finds an engine at most a slice ahead, and results beyond it are
discarded, because a real node would never have found them.

Pondering takes as much virtual time as the opponent took, and after a hit it continues beside the next search.

An engine that cannot run in steps (an external one) runs to the end of its job's limits when it gets the job. So it
cannot ponder.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from msgspec import structs

from cluster.api import Decision, FleetError, PonderSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import (
    Event,
    LogEvent,
    NodeJoined,
    NodeLost,
    Received,
    SendJob,
    StopNode,
    Tick,
)
from cluster.coordination.settings import Settings, SharingSettings
from cluster.network.messages import COMMON, Done, Job, Report
from lab.strategies.steps import Steps
from lab.strategies.strategy import HISTORIES, SLICE_MS, Strategy
from worker.engine import Engine, EngineError, SearchInfo, SearchResult, SharesTable
from worker.search.engine import NumbaEngine

_LONE_SLICE_MS: Final = 1000
"""Slice of a single node; it only bounds how far beyond its stop a search runs."""


@dataclass(slots=True)
class VirtualFleet:
    """N virtual nodes under one coordinator, all with one network. ``now_ms`` is the virtual time, which continues from
    search to search."""

    nodes: Sequence[VirtualNode]
    settings: Settings = field(default_factory=Settings)
    share_depth: int = SharingSettings().depth
    """As `SharingSettings.depth`."""
    now_ms: int = 0
    slice_ms: int = SLICE_MS
    one_table: bool = False
    one_history: bool = False
    histories: int = HISTORIES
    """As in `Strategy`. Without shared entries no histories are exchanged."""
    log: list[tuple[int, LogEvent]] = field(default_factory=list)
    """Log events of the last search, with their virtual time."""
    _coordinator: Coordinator = field(init=False)
    _by_id: dict[str, VirtualNode] = field(init=False)
    _runs: dict[str, JobRun] = field(init=False, default_factory=dict)
    """The jobs that run in steps."""
    _horizon_ms: int = field(init=False, default=0)
    """End of the current slice, up to which these jobs have run."""
    _queue: list[tuple[int, int, Event]] = field(init=False, default_factory=list)
    _order: itertools.count[int] = field(init=False, default_factory=itertools.count)
    _sharers: list[SharesTable] = field(init=False, default_factory=list)
    """The engines that exchange what they find; empty if nothing is shared."""
    _pondered_id: int | None = field(init=False, default=None)
    """The search id of the running pondering."""

    def __post_init__(self) -> None:
        self._coordinator = Coordinator(self.settings)
        self._by_id = {node.node_id: node for node in self.nodes}
        for node in self.nodes:
            self._coordinator.handle(node.joins(), self.now_ms)
        engines: list[SharesTable] = [node.engine for node in self.nodes if isinstance(node.engine, SharesTable)]
        shares = self.share_depth > 0 and not self.one_table and len(engines) > 1
        self._sharers = engines if shares else []
        for engine in engines:
            engine.share(self.share_depth if shares else None)
            if isinstance(engine, NumbaEngine) and isinstance(engines[0], NumbaEngine):
                engine.search_beside(engines[0], table=self.one_table, histories=self.one_history)
            engine.share_histories(shares and self.histories > 0)
        if len(self.nodes) == 1:
            self.slice_ms = _LONE_SLICE_MS

    @classmethod
    def of(cls, nodes: Sequence[VirtualNode], how: Strategy) -> VirtualFleet:
        """A fleet that plays a strategy."""
        return cls(
            nodes,
            how.settings,
            how.share_depth,
            slice_ms=how.slice_ms,
            one_table=how.one_table,
            one_history=how.one_history,
            histories=how.histories,
        )

    def new_game(self) -> None:
        """Start a new game on every engine."""
        for node in self.nodes:
            node.engine.new_game()
        for engine in self._sharers:
            engine.take_entries()

    def search(self, request: SearchRequest, faults: Sequence[tuple[int, NodeJoined | NodeLost]] = ()) -> Decision:
        """Search until the decision.

        Args:
            faults: nodes that leave or return (`VirtualNode.joins`), each with its time in milliseconds after the
            start.

        Raises:
            ValueError: as `Coordinator.handle`.
            FleetError: the request has no limit at all: in virtual time nothing would ever stop it.
        """
        if request.hard_ms is None and request.nodes is None and request.depth is None:
            raise FleetError("a search in virtual time needs a limit: hard_ms, nodes or depth")
        self._begin()
        decision = self._handle(StartSearch(request))
        for after_ms, fault in faults:
            self._put(self.now_ms + after_ms, fault)
        try:
            while decision is None:
                event = self._next()
                if event is None:
                    raise FleetError("the coordinator waits for something that cannot come")
                decision = self._handle(event)
        finally:
            self._end_all()
        return decision

    def ponder(self, request: SearchRequest, for_ms: int) -> None:
        """Ponder for ``for_ms`` of virtual time, and stay ready until the next search, which may be a hit, or `rest`.

        Raises:
            ValueError: as `Coordinator.handle`.
        """
        self._begin()
        self.slice_ms = min(self.slice_ms, SLICE_MS)  # a lone node too: on a miss it has run on for at most a slice
        try:
            self._handle(PonderSearch(request))
            self._pondered_id = request.search_id
            until_ms = self.now_ms + for_ms
            while (event := self._next(until_ms)) is not None:
                self._handle(event)
        except BaseException:
            self._end_all()
            raise
        self.now_ms = until_ms

    def rest(self) -> None:
        """End the pondering, if there is any."""
        if self._pondered_id is not None:
            self._handle(StopSearch(self._pondered_id))
        self._end_all()

    def _begin(self) -> None:
        """Begin a search: running pondering continues; everything else is cleared."""
        self.log = []
        if self._pondered_id is None:
            self._queue, self._horizon_ms = [], self.now_ms

    def _end_all(self) -> None:
        self._pondered_id = None
        for node_id in list(self._runs):
            self._end(node_id)

    def _next(self, until_ms: int | None = None) -> Event | None:
        """Advance to the next event, slice by slice. None: nothing will happen, or not by ``until_ms``."""
        while True:
            wake = self._coordinator.wake_ms(self.now_ms)
            times = (self._queue[0][0] if self._queue else None, wake, until_ms)
            due = min((time for time in times if time is not None), default=None)
            if self._runs and (due is None or due > self._horizon_ms):
                self._slice()
            elif due is None:
                return None
            elif self._queue and self._queue[0][0] == due:
                self.now_ms, _, event = heapq.heappop(self._queue)
                return event
            elif wake == due:
                self.now_ms = due
                return Tick()
            else:
                return None

    def _slice(self) -> None:
        """Run all engines to the next horizon; then those that share exchange new entries and histories."""
        self._horizon_ms += self.slice_ms
        for node_id in list(self._runs):
            self._advance(node_id)
        if self._sharers:
            exchange(self._sharers, self.histories)

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
                    self._runs[node_id] = JobRun(self._by_id[node_id], job, self.now_ms)
                    self._advance(node_id)
                case StopNode(node_id, _):
                    self._end(node_id)
                case Decision():
                    decided = instruction
                case LogEvent():
                    self.log.append((self.now_ms, instruction))
        return decided


_ENDLESS: Final = 1 << 50
"""More nodes than any search has."""


@dataclass(slots=True)
class VirtualNode:
    """An engine and its speed (virtual nodes a second). ``delay_ms``: of each message to the master."""

    node_id: str
    engine: Engine
    nps: int = 1_000_000
    delay_ms: int = 0

    def joins(self) -> NodeJoined:
        """The event by which it joins, as `cluster.drivers.fleet` creates it for a real node."""
        return NodeJoined(self.node_id, self.engine.name[:128], self.engine.can_split, self.nps)


class JobRun:
    """A job on a virtual node, up to the current virtual time. An engine that cannot run in steps has finished its job
    from the start."""

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
        limits = _in_nodes(job, node.nps).limits(COMMON)
        try:
            node.engine.rules = job.rules(node.engine.rules, COMMON)
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
        """Search until the virtual time ``until_ms``. Returns the new messages and the time at which each reaches the
        master."""
        if self._search is not None:
            self._step(self._search, (until_ms - self._began_ms) * self._node.nps // 1000)
        if self._result is not None:
            # The real time is left out: nothing here may depend on the clock.
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
        timed = replace(info, time_ms=info.nodes * 1000 // self._node.nps)
        return Report.of(self._node.node_id, self._job, timed, COMMON)


def exchange(engines: Sequence[SharesTable], histories: int) -> None:
    """Every engine takes over the others' new entries since the last exchange, and averages the values of histories
    that changed most, of which each engine sends ``histories`` at most to all others together."""
    fresh = [engine.take_entries() for engine in engines]
    for number, engine in enumerate(engines):
        others = [entries for other, entries in enumerate(fresh) if other != number]
        if any(map(len, others)):
            engine.absorb_entries(np.concatenate(others))
    if histories:
        most = max(1, histories // (len(engines) - 1))
        changes = [engine.take_changes(most) for engine in engines]
        for number, engine in enumerate(engines):
            engine.absorb_changes([each for other, each in enumerate(changes) if other != number])


def _in_nodes(job: Job, nps: int) -> Job:
    """The job with its time limit converted to nodes. An endless one at least ends at its last depth, because nothing
    in virtual time would stop it."""
    if job.movetime_ms is None:
        return job if job.nodes is not None or job.depth is not None else structs.replace(job, nodes=_ENDLESS)
    nodes = max(1, job.movetime_ms * nps // 1000)
    limit = nodes if job.nodes is None else min(nodes, job.nodes)
    return structs.replace(job, movetime_ms=None, nodes=limit)
