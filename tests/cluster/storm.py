"""Random events for a coordinator, and the checks that hold all the time: each search has one decision, legal and in
time."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field

from cluster.api import Decision, PonderSearch, Progress, SearchRequest, StartSearch, StopSearch
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import (
    FALLBACK,
    Event,
    LogEvent,
    NodeJoined,
    NodeLost,
    Received,
    SendJob,
    StopNode,
    Tick,
)
from cluster.coordination.root import Root
from cluster.network.messages import Done, Heartbeat, Job, Report
from tests.cluster.coordination.invariants import check
from worker.engine import Bound
from worker.score import MATE
from worker.shogi import STARTPOS

NODES = ["n1", "n2", "n3", "n4", "n5", "n6", FALLBACK]
POSITIONS: list[tuple[str, tuple[str, ...]]] = [
    (STARTPOS, ()),
    (STARTPOS, ("7g7f", "3c3d")),
    ("k8/9/1R7/9/9/9/9/9/4K4 w - 1", ()),
    ("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", ()),
    ("k8/9/2R6/9/9/9/9/9/4K4 w - 1", ()),
]


@functools.cache
def root_of(sfen: str, moves: tuple[str, ...]) -> Root:
    return Root(SearchRequest(0, sfen, moves))


@dataclass
class Storm:
    """Random events for a coordinator, and the checks that hold all the time."""

    coordinator: Coordinator
    beside_master: bool = False
    """Whether its nodes run on the master's own machine."""
    now: int = 0
    running: SearchRequest | None = None
    pondering: SearchRequest | None = None
    hits: int = 0
    started: int = 0
    stopped: int | None = None
    decided: list[Decision] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    old: list[Job] = field(default_factory=list)
    next_id: int = 1
    starts: int = 0

    def join(self, node_id: str) -> None:
        self.feed(NodeJoined(node_id, beside_master=self.beside_master))

    def feed(self, event: Event) -> None:
        before = len(self.decided)
        expected = [self.running] if self.running else []
        if isinstance(event, StartSearch):
            expected.append(event.request)
            self.pondering = None
        elif isinstance(event, PonderSearch):
            self.pondering = event.request
        instructions = self.coordinator.handle(event, self.now)
        check(self.coordinator)
        for instruction in instructions:
            match instruction:
                case SendJob(node_id, job):
                    self.old.append(job)
                    self.jobs[node_id] = job
                    assert self.running or self.pondering or isinstance(event, StartSearch)
                    assert job.nodes is None or job.nodes > 0
                case StopNode(node_id):
                    self.jobs.pop(node_id, None)
                case Decision() as decision:
                    self.check(decision, expected)
                    self.decided.append(decision)
                case Progress() as progress:
                    assert progress.elapsed_ms >= 0
                case LogEvent("ponder_hit"):
                    self.hits += 1
        new = self.decided[before:]
        if isinstance(event, StartSearch):
            assert len(new) >= (self.running is not None)
            self.running, self.started, self.stopped = event.request, self.now, None
        assert len(new) <= 2
        assert len({decision.search_id for decision in new}) == len(new)
        if self.running and any(decision.search_id == self.running.search_id for decision in new):
            self.running = None
        if self.running and self.running.hard_ms is not None:
            assert self.now < self.started + self.running.hard_ms, "past the hard deadline"
        if self.stopped is not None and self.running:
            assert self.now < self.stopped + self.coordinator.settings.stop_grace_ms
        assert self.coordinator.searching == (self.running is not None)
        assert not self.coordinator.pondering or self.pondering is not None

    def check(self, decision: Decision, expected: list[SearchRequest]) -> None:
        request = expected.pop(0)
        while request.search_id != decision.search_id:
            request = expected.pop(0)
        root = root_of(request.sfen, request.moves)
        if decision.move in ("resign", "win"):
            assert decision.source == "forced"
            assert (decision.move == "resign") == (not root.legal)
        else:
            assert decision.move in root.legal
            assert root.legal_part(decision.pv) == decision.pv
            assert len(decision.lines) <= request.multipv
            firsts = [line.pv[0] for line in decision.lines]
            assert len(set(firsts)) == len(firsts)
            if decision.source in ("forced", "none"):
                assert (firsts, decision.pv, decision.score) == ([], (), None)
            else:
                assert firsts[0] == decision.pv[0] == decision.move

    def start(self, rng: random.Random) -> None:
        [(sfen, moves)] = rng.choices(POSITIONS, weights=(5, 5, 1, 1, 2))
        soft = rng.choice([None, 0, 50, 700, 2000])
        hard = None if soft is None else soft + rng.choice([0, 5, 500])
        nodes = rng.choice([None, None, 1, 1500, 20000])
        depth = rng.choice([None, None, 1, 8])
        multipv = rng.choice([1, 1, 1, 3])
        pondered = self.pondering
        if pondered is not None and rng.random() < 0.8:  # the opponent plays the likely reply, or any other
            ply = len(pondered.moves)
            jobs = [job for job in self.jobs.values() if job.search_id == pondered.search_id]
            replies = [job.moves[ply] for job in jobs if len(job.moves) > ply]
            legal = root_of(pondered.sfen, pondered.moves).legal
            if replies or legal:
                sfen, moves = pondered.sfen, (*pondered.moves, rng.choice(replies or legal))
                nodes, depth, multipv = pondered.nodes, pondered.depth, pondered.multipv
        self.starts += 1
        self.next_id += 1
        self.feed(StartSearch(SearchRequest(self.next_id, sfen, moves, soft, hard, nodes, depth, multipv=multipv)))

    def start_timed(self, rng: random.Random, soft_ms: int, hard_ms: int) -> None:
        """A search of the start position, or of one after it."""
        sfen, moves = rng.choice(POSITIONS[:2])
        self.starts += 1
        self.next_id += 1
        self.feed(StartSearch(SearchRequest(self.next_id, sfen, moves, soft_ms, hard_ms)))

    def ponder(self, rng: random.Random) -> None:
        sfen, moves = rng.choice(POSITIONS)
        if self.decided and self.decided[-1].pv and rng.random() < 0.5:
            sfen, moves = STARTPOS, self.decided[-1].pv[:1]
            if moves[0] not in root_of(STARTPOS, ()).legal:
                moves = ()
        nodes = rng.choice([None, None, 1500])
        self.next_id += 1
        expected = rng.choice(["", "", *root_of(sfen, moves).legal])
        request = SearchRequest(self.next_id, sfen, moves, nodes=nodes, multipv=rng.choice([1, 1, 2]))
        self.feed(PonderSearch(request, expected))

    def message(self, rng: random.Random) -> Report | Done | Heartbeat:
        node_id = rng.choice(NODES)
        job = self.jobs.get(node_id)
        if job is None or rng.random() < 0.1:
            job = rng.choice(self.old) if self.old else Job(1, 1, STARTPOS)
        kind = rng.random()
        if kind < 0.2:
            return Done(node_id, job.search_id, job.job_id, rng.randrange(20000), 5, rng.choice(["", "", "broken"]))
        if kind < 0.3:
            return Heartbeat(node_id, "x", rng.choice([0, job.job_id, job.job_id + 5]), rng.random() < 0.5)
        legal = root_of(job.sfen, job.moves).legal or ("7g7f",)
        moves = job.searchmoves or [move for move in legal if move not in job.ignoremoves] or legal
        first = rng.choice([*moves, *moves, "1a1b", "zz"]) if rng.random() < 0.2 else rng.choice(list(moves))
        return Report(
            node_id=node_id,
            search_id=job.search_id,
            job_id=job.job_id,
            depth=rng.randrange(30),
            seldepth=9,
            score=rng.choice([rng.randrange(-300, 300), MATE - rng.randrange(30), rng.randrange(30) - MATE]),
            bound=rng.choice(list(Bound)),
            nodes=rng.randrange(30000),
            time_ms=rng.randrange(3000),
            hashfull=0,
            pv=(first, *rng.choices(["3c3d", "8c8d", "2g2f", "x"], k=rng.randrange(4))),
            multipv=rng.choice([1, 1, 1, 2, 3, 9]),
        )

    def step(self, rng: random.Random) -> None:
        kind = rng.random()
        self.now += rng.choice([0, 0, 1, 5, 20, 100])
        wake = self.coordinator.wake_ms(self.now - 200)
        if wake is not None and self.now >= wake:
            self.feed(Tick())  # a driver's timer is in time, if not exact
        if kind < 0.70:
            self.feed(Received(self.message(rng)))
        elif kind < 0.78:
            self.jobs.pop(lost := rng.choice(NODES), None)
            self.feed(NodeLost(lost, "storm"))
        elif kind < 0.88:
            self.join(rng.choice(NODES))
        elif kind < 0.92:
            self.feed(Tick())
        elif kind < 0.95 and self.running is not None:
            if self.stopped is None:
                self.stopped = self.now
            self.feed(StopSearch(self.running.search_id))
        elif kind < 0.96 and self.pondering is not None:
            self.feed(StopSearch(self.pondering.search_id))
            assert not self.coordinator.pondering or self.running is not None
            self.pondering = None
        elif self.running is None or kind > 0.99:
            if (self.pondering is None and rng.random() < 0.7) or kind > 0.998:
                self.ponder(rng)
            else:
                self.start(rng)

    def calm(self) -> None:
        """Only time passes: a search with limits ends."""
        while self.running is not None:
            wake = self.coordinator.wake_ms(self.now)
            if wake is None:
                infinite = self.running.hard_ms is None
                assert infinite, "nothing would ever end this search"
                self.feed(StopSearch(self.running.search_id))
                self.stopped = self.now
                continue
            self.now = wake
            self.feed(Tick())
