"""What a report costs the coordinator: ``python -m tests.cluster.report_cost [NODES [REPORTS [NEW]]]``.

Nodes report lines of their own jobs, 20 a second each, in virtual time. What is measured is the processor time over
whole events, the progress that goes out ten times a second included. Variations are random legal moves to a depth of
12 plies; the share NEW of the reports (default 0.25) brings one that was not seen before, which has to be checked.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

from cluster.api import SearchRequest
from cluster.coordinator import Coordinator
from cluster.events import Event, NodeJoined, Received, SendJob, Start, StopNode, Tick
from cluster.messages import Job, Report
from cluster.settings import Mode, Settings
from worker.engine import STARTPOS, Bound
from worker.shogi import Position, move_to_usi

PLIES = 12
HZ = 20
WARM_UP = 500


class Fleet:
    """Makes the reports of nodes, and takes their orders."""

    def __init__(self, settings: Settings, nodes: int) -> None:
        self.coordinator = Coordinator(settings)
        self.rng = random.Random(1)
        self.jobs: dict[str, Job] = {}
        self.last: dict[int, tuple[str, ...]] = {}
        for number in range(nodes):
            self.feed(NodeJoined(f"n{number}"), 0)
        self.feed(Start(SearchRequest(1, STARTPOS, ("7g7f", "3c3d"), soft_ms=10**7, hard_ms=10**7)), 0)

    def feed(self, event: Event, now_ms: int) -> float:
        """Microseconds that the coordinator took."""
        began = time.thread_time_ns()
        out = self.coordinator.handle(event, now_ms)
        self.coordinator.wake_ms(now_ms)  # as every driver asks after each event
        took = time.thread_time_ns() - began
        for order in out:
            if isinstance(order, SendJob):
                self.jobs[order.node_id] = order.job
            elif isinstance(order, StopNode):
                self.jobs.pop(order.node_id, None)
        return took / 1000

    def report(self, node_id: str, depth: int, new: float, multipv: int = 1) -> Received:
        job = self.jobs[node_id]
        if job.job_id not in self.last or self.rng.random() < new:
            self.last[job.job_id] = self.variation(job)
        score, pv = self.rng.randrange(-50, 50), self.last[job.job_id]
        report = Report(node_id, 1, job.job_id, depth, depth, score, Bound.EXACT, depth, depth, 0, pv, multipv)
        return Received(report)

    def variation(self, job: Job) -> tuple[str, ...]:
        position = Position.from_sfen(job.sfen)
        position.push_all(job.moves)
        line: list[str] = []
        while len(line) < PLIES and (legal := position.legal_moves()):
            moves = {move_to_usi(move): move for move in legal}
            names = [name for name in moves if line or name in job.searchmoves or not job.searchmoves]
            names = [name for name in names if line or name not in job.ignoremoves]
            line.append(self.rng.choice(names))
            position.push(moves[line[-1]])
        return tuple(line)


def measure(settings: Settings, nodes: int, count: int, new: float) -> None:
    fleet = Fleet(settings, nodes)
    for rank in range(1, 8):
        fleet.feed(fleet.report("n0", 5, 1.0, rank), 0)
    for node_id in sorted(fleet.jobs):
        fleet.feed(fleet.report(node_id, 4, 1.0), 0)
    fleet.feed(Tick(), 400)
    times = []
    names = sorted(fleet.jobs)
    for index in range(-WARM_UP, count):
        event = fleet.report(fleet.rng.choice(names), 6 + max(0, index) * 14 // count, new)
        took = fleet.feed(event, 400 + (index + WARM_UP) * 1000 // (HZ * len(names)))
        times.append(took)
    times = sorted(times[WARM_UP:])
    mean = statistics.fmean(times)
    print(
        f"{settings.mode:8}{nodes:5} nodes, {len(names):4} with a job: mean {mean:6.1f} us"
        f", median {times[count // 2]:6.1f}, p99 {times[count * 99 // 100]:7.1f}, worst {times[-1]:7.1f};"
        f" {mean * nodes * HZ / 1e4:5.1f} % of a core"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    for mode in Mode:
        measure(
            Settings(mode=mode),
            int(given[0]) if given else 1000,
            int(given[1]) if len(given) > 1 else 10_000,
            float(given[2]) if len(given) > 2 else 0.25,
        )
