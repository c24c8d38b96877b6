"""A coordinator on a test bench: the test plays its clock, its nodes and its master."""

from __future__ import annotations

from msgspec import structs

from cluster.api import Decision, Pondered, SearchRequest, StartSearch
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import (
    FALLBACK,
    Event,
    Instruction,
    LogEvent,
    NodeJoined,
    Received,
    SendJob,
    StopNode,
    Tick,
)
from cluster.coordination.settings import Mode, Settings
from cluster.network.messages import Done, Job, Report
from cluster.split.tree import TakeoverMargin
from tests.cluster.coordination.invariants import check
from worker.engine import Bound
from worker.shogi import STARTPOS

SETTINGS = Settings(Mode.SPLIT, validate=True, takeover=TakeoverMargin(10, 0, 20), root_share=0)
TIMED = SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=3000)
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
ONE_MOVE = "k8/9/1R7/9/9/9/9/9/4K4 w - 1"
DECLARABLE = "+P+P+P+PK+P+P+P+P/+P+P+P6/9/9/9/9/9/9/4k4 b 2R2B4G4S4N4L 1"


class Bench:
    """A coordinator, its clock, and its instructions so far."""

    def __init__(self, nodes: int = 2, settings: Settings = SETTINGS, fallback: bool = False) -> None:
        self.coordinator = Coordinator(settings)
        self.now = 1000
        self.jobs: dict[str, Job | None] = {}
        self.decisions: list[Decision] = []
        self.out: list[Instruction] = []
        self.pondered = Pondered(0, {})
        """The final answer of a ponder search."""
        for number in range(1, nodes + 1):
            self.feed(NodeJoined(f"n{number}"))
        if fallback:
            self.feed(NodeJoined(FALLBACK))

    def feed(self, event: Event, after: int = 0) -> list[Instruction]:
        self.now += after
        self.out = self.coordinator.handle(event, self.now)
        check(self.coordinator)
        for instruction in self.out:
            match instruction:
                case SendJob(node_id, job):
                    self.jobs[node_id] = job
                case StopNode(node_id, job_id):
                    current = self.jobs.get(node_id)
                    if current is not None and current.job_id == job_id:
                        self.jobs[node_id] = None
                case Pondered() as pondered:
                    self.pondered = pondered
                case Decision() as decision:
                    self.decisions.append(decision)
        return self.out

    def tick(self, after: int) -> list[Instruction]:
        return self.feed(Tick(), after)

    def job(self, node_id: str) -> Job:
        job = self.jobs[node_id]
        assert job is not None
        return job

    def report(self, node_id: str, depth: int, score: int, *pv: str, **fields: object) -> list[Instruction]:
        job = self.job(node_id)
        made = Report(node_id, job.search_id, job.job_id, depth, depth, score, Bound.EXACT, depth * 100, depth, 0, pv)
        return self.feed(Received(structs.replace(made, **fields)))  # type: ignore[arg-type]

    def done(self, node_id: str, nodes: int = 1000, error: str = "") -> list[Instruction]:
        job = self.job(node_id)
        return self.feed(Received(Done(node_id, job.search_id, job.job_id, nodes, 1, error)))

    def events(self, name: str) -> list[dict[str, object]]:
        return [i.fields for i in self.out if isinstance(i, LogEvent) and i.name == name]

    def split(self, request: SearchRequest = TIMED) -> None:
        """Start a search and finish its presearch: 7g7f is ranked first."""
        self.feed(StartSearch(request))
        self.report("n1", 5, 30, "7g7f", "3c3d")
        self.tick(300)
        assert self.events("dealt")
