"""The fleet in virtual time: the same coordinator, N engines, no Ray, no network, no clock; exact and repeatable.

A virtual node searches ``nps`` nodes in a virtual second: a line that its engine reports after n nodes arrives
n / nps seconds after the job did. The engines run one after the other in this thread, each to the end of its job's
limits the moment it gets the job; what lies beyond a stop or a newer job is thrown away, as a real node would never
have found it. (What it left in the engine's transposition table stays there: runs are repeatable all the same, and node
budgets, which end jobs by themselves, have next to none of it.)
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cluster.api import Decision, FleetError, Progress, SearchRequest
from cluster.coordinator import Coordinator
from cluster.events import Decide, Event, LogEvent, NodeJoined, NodeLost, Publish, Received, SendJob, Start, Tick
from cluster.messages import Done, Job, Report
from cluster.settings import Settings
from worker.engine import Engine, EngineError, SearchInfo, SearchResult


@dataclass(slots=True)
class VirtualNode:
    """An engine and how fast its machine is (virtual nodes a second). ``delay_ms``: of each message to the master."""

    node_id: str
    engine: Engine
    nps: int = 1_000_000
    delay_ms: int = 0


@dataclass(slots=True)
class VirtualFleet:
    """N virtual nodes under one coordinator. ``now_ms`` is the virtual time, which goes on from search to search."""

    nodes: Sequence[VirtualNode]
    settings: Settings = field(default_factory=Settings)
    now_ms: int = 0
    log: list[tuple[int, LogEvent]] = field(default_factory=list)
    """What happened in the last search, with its virtual time."""
    progress: list[Progress] = field(default_factory=list)
    """What was published in the last search."""
    _coordinator: Coordinator = field(init=False)
    _by_id: dict[str, VirtualNode] = field(init=False)
    _queue: list[tuple[int, int, Event]] = field(init=False, default_factory=list)
    _order: itertools.count[int] = field(init=False, default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._coordinator = Coordinator(self.settings)
        self._by_id = {node.node_id: node for node in self.nodes}
        for node in self.nodes:
            self._coordinator.handle(NodeJoined(node.node_id), self.now_ms)

    def new_game(self) -> None:
        """Tell every engine that a new game begins."""
        for node in self.nodes:
            node.engine.new_game()

    def search(self, request: SearchRequest, faults: Sequence[tuple[int, NodeJoined | NodeLost]] = ()) -> Decision:
        """Search to the decision.

        Args:
            faults: nodes that leave or come back, each with its time in milliseconds after the start.

        Raises:
            ValueError: as `Coordinator.handle`.
            FleetError: the request has no limit at all: in virtual time nothing would ever stop it.
        """
        if request.hard_ms is None and request.nodes is None and request.depth is None:
            raise FleetError("a search in virtual time needs a limit: hard_ms, nodes or depth")
        self.log, self.progress, self._queue = [], [], []
        start = self.now_ms
        for after_ms, fault in faults:
            self._put(start + after_ms, fault)
        event: Event
        decision = self._handle(Start(request))
        while decision is None:
            wake = self._coordinator.wake_ms(self.now_ms)
            if self._queue and (wake is None or self._queue[0][0] <= wake):
                self.now_ms, _, event = heapq.heappop(self._queue)
            elif wake is not None:
                self.now_ms, event = wake, Tick()
            else:
                raise FleetError("the coordinator waits for something that cannot come")
            decision = self._handle(event)
        return decision

    def _put(self, time_ms: int, event: Event) -> None:
        heapq.heappush(self._queue, (time_ms, next(self._order), event))

    def _handle(self, event: Event) -> Decision | None:
        decided = None
        for instruction in self._coordinator.handle(event, self.now_ms):
            match instruction:
                case SendJob(node_id, job):
                    self._run(self._by_id[node_id], job)
                case Decide(decision):
                    decided = decision
                case Publish(progress):
                    self.progress.append(progress)
                case LogEvent():
                    self.log.append((self.now_ms, instruction))
        return decided

    def _run(self, node: VirtualNode, job: Job) -> None:
        """Run the job to its limits and put its messages where they belong in time. The coordinator sorts out, by the
        job's id, what a stop or a newer job has overtaken."""
        infos: list[SearchInfo] = []
        try:
            node.engine.set_position(job.sfen, job.moves)
            result = node.engine.go(_in_nodes(job, node.nps).limits(), infos.append)
        except EngineError as error:
            self._put(self.now_ms + node.delay_ms, Received(_done(node, job, SearchResult("", None, 0, 0), str(error))))
            return
        infos += [line for line in result.lines if line not in infos]
        for info in infos:
            time_ms = info.nodes * 1000 // node.nps
            report = Report.of(node.node_id, job, replace(info, time_ms=time_ms))
            self._put(self.now_ms + time_ms + node.delay_ms, Received(report))
        self._put(self.now_ms + result.nodes * 1000 // node.nps + node.delay_ms, Received(_done(node, job, result, "")))


def _in_nodes(job: Job, nps: int) -> Job:
    """The job with its time limit turned into nodes."""
    if job.movetime_ms is None:
        return job
    nodes = max(1, job.movetime_ms * nps // 1000)
    limit = nodes if job.nodes is None else min(nodes, job.nodes)
    return replace(job, movetime_ms=None, nodes=limit)


def _done(node: VirtualNode, job: Job, result: SearchResult, error: str) -> Done:
    return Done(node.node_id, job.search_id, job.job_id, result.nodes, result.nodes * 1000 // node.nps, error[:1000])
