"""The coordinator's cost per report: 1,000 virtual nodes, 20 reports a second each.

    python -m benchmarks.coordinator [--nodes 1000] [--reports 10000] [--new 0.25] [--modes split,…] [--json]

It runs in virtual time and measures whole events, including the check of the variation, the vote and the progress
output ten times a second. Variations are random legal moves, 12 plies deep; the share NEW of the reports has an unseen
one, which has to be checked. Figures are microseconds of processor time; ``decoded`` includes decoding the message.
``of a core``: the share of a core for all reports together, decoding included. Other events: the search's ``start``,
the end of its presearch (``dealt``), and a node that is ``lost`` (then a split is dealt again) and returns
(``joined``).
"""

from __future__ import annotations

import argparse
import json
import random
import time

from benchmarks.figures import Figures, machine, show
from cluster.api import SearchRequest, StartSearch
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import Event, NodeJoined, NodeLost, Received, SendJob, StopNode, Tick
from cluster.coordination.root import prepare_rules
from cluster.coordination.settings import Mode, Settings
from cluster.network.messages import Job, Report, decode, encode
from worker.engine import Bound
from worker.shogi import STARTPOS, Position, move_to_usi
from worker.threads import spare_the_collector

PLIES = 12
HZ = 20
WARM_UP = 500
LOSSES = 20
_PRESEARCH_MS = 400
"""Time by which the presearch is over."""


class Fleet:
    """Produces the nodes' reports, and receives their orders."""

    def __init__(self, settings: Settings, nodes: int) -> None:
        self.coordinator = Coordinator(settings)
        self.rng = random.Random(1)
        self.jobs: dict[str, Job] = {}
        self.last: dict[int, tuple[str, ...]] = {}
        for number in range(nodes):
            self.feed(NodeJoined(f"n{number}"), 0)
        request = SearchRequest(1, STARTPOS, ("7g7f", "3c3d"), soft_ms=10**7, hard_ms=10**7)
        self.start_us = self.feed(StartSearch(request), 0)

    def feed(self, event: Event, now_ms: int) -> float:
        """Feed the coordinator an event and return the microseconds that it took."""
        began = time.thread_time_ns()
        out = self.coordinator.handle(event, now_ms)
        self.coordinator.wake_ms(now_ms)  # as every driver does after each event
        took = time.thread_time_ns() - began
        for order in out:
            if isinstance(order, SendJob):
                self.jobs[order.node_id] = order.job
            elif isinstance(order, StopNode):
                self.jobs.pop(order.node_id, None)
        return took / 1000

    def report(self, node_id: str, depth: int, new: float, multipv: int = 1) -> Report:
        """A report on the node's job, with probability ``new`` of an unseen variation."""
        job = self.jobs[node_id]
        if job.job_id not in self.last or self.rng.random() < new:
            self.last[job.job_id] = self.variation(job)
        score, pv = self.rng.randrange(-50, 50), self.last[job.job_id]
        return Report(node_id, 1, job.job_id, depth, depth, score, Bound.EXACT, depth, depth, 0, pv, multipv)

    def variation(self, job: Job) -> tuple[str, ...]:
        """Random moves from the job's root, the first one of the job's."""
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


def measure(settings: Settings, nodes: int, count: int, new: float) -> tuple[dict[str, Figures], int]:
    """The microseconds of ``count`` reports, as an ``event`` and ``decoded`` too, and of the other events of a search;
    and the number of nodes that had a job."""
    fleet = Fleet(settings, nodes)
    for rank in range(1, settings.presearch_multipv + 1):
        fleet.feed(Received(fleet.report("n0", 5, 1.0, rank)), 0)
    for node_id in sorted(fleet.jobs):
        fleet.feed(Received(fleet.report(node_id, 4, 1.0)), 0)
    dealt_us = fleet.feed(Tick(), _PRESEARCH_MS)
    figures = {"event": Figures(), "decoded": Figures()}
    names = sorted(fleet.jobs)
    for index in range(-WARM_UP, count):
        name = fleet.rng.choice(names)
        data = encode(fleet.report(name, 6 + max(0, index) * 14 // count, new))
        began = time.thread_time_ns()
        message = decode(data)
        decoding = (time.thread_time_ns() - began) / 1000
        assert isinstance(message, Report)
        took = fleet.feed(Received(message), _PRESEARCH_MS + (index + WARM_UP) * 1000 // (HZ * len(names)))
        if index >= 0:
            figures["event"].add(took)
            figures["decoded"].add(took + decoding)
    figures |= {
        "start": Figures([fleet.start_us]),
        "dealt": Figures([dealt_us]),
        "lost": Figures(),
        "joined": Figures(),
    }
    after_ms = _PRESEARCH_MS + (count + WARM_UP) * 1000 // (HZ * len(names))
    for name in fleet.rng.sample(names, min(LOSSES, len(names) - 1)):
        figures["lost"].add(fleet.feed(NodeLost(name, "cut"), after_ms))
        figures["joined"].add(fleet.feed(NodeJoined(name), after_ms))
    return figures, len(names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--new", type=float, default=0.25, help="share of reports with a new variation")
    parser.add_argument("--modes", default=",".join(Mode), help="modes, separated by commas")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prepare_rules()
    spare_the_collector()
    found: dict[str, dict[str, Figures]] = {}
    cores: dict[str, float] = {}
    for mode in options.modes.split(","):
        figures, busy = measure(Settings(mode=Mode(mode)), options.nodes, options.reports, options.new)
        found[f"{mode}, {busy} with a job"] = figures
        cores[mode] = figures["decoded"].mean * busy * HZ / 1e6
    if options.json:
        plain = {group: {name: one.facts() for name, one in rows.items()} for group, rows in found.items()}
        facts = {"unit": "us", "nodes": options.nodes, "machine": machine(), "figures": plain, "of_a_core": cores}
        print(json.dumps(facts, indent=2))
    else:
        show(f"microseconds a report, {options.nodes} nodes", found)
        print("of a core:", ", ".join(f"{mode} {share:.0%}" for mode, share in cores.items()))


if __name__ == "__main__":
    main()
