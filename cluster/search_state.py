"""The state of one search over the fleet: who does what, what is known, and what the answer would be now."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from cluster.api import Ballot, NodeView, Progress, SearchRequest
from cluster.consultation import comparable, count
from cluster.messages import Job
from cluster.ranking import Presearch
from cluster.root import Root
from cluster.settings import Mode, Settings
from cluster.split import Leaf, Line, Tree, merge
from worker.engine import Bound
from worker.score import MATE, MATE_BOUND


class Phase(enum.StrEnum):
    """Where a search stands. ``PRESEARCH`` is followed by ``SPLIT``, or by ``CONSULT`` where nodes were lost."""

    PRESEARCH = "presearch"
    SPLIT = "split"
    CONSULT = "consult"


@dataclass(slots=True)
class Work:
    """What one node does and did in this search."""

    node_id: str
    alive: bool = True
    """It can be given jobs. A node that is not has no job."""
    failed: bool = False
    """Its engine refused a job of this search; it gets no other."""
    refused: int = 0
    """Reports of this search that were not legal."""
    job: Job | None = None
    leaf: Leaf = field(default_factory=Leaf)
    """The part of the tree that ``job`` searches."""
    sent_ms: int = 0
    done: bool = False
    """``job`` is over."""
    job_nodes: int = 0
    job_ms: int = 0
    spent: int = 0
    """Nodes searched in jobs before ``job``."""
    job_counts: bool = False
    """A line of ``job`` has become part of what the answer is made of."""
    wasted: int = 0
    """Of ``spent``: in jobs that brought nothing."""
    line: Line | None = None
    """The last line it reported."""
    ballot: Line | None = None
    """The last line it reported on the whole root: its vote."""

    @property
    def busy(self) -> bool:
        return self.job is not None and not self.done

    @property
    def nodes(self) -> int:
        return self.spent + self.job_nodes

    def give(self, job: Job, leaf: Leaf, now_ms: int) -> None:
        self.drop()
        self.job, self.leaf, self.sent_ms = job, leaf, now_ms

    def drop(self) -> None:
        """Forget the job, not what came of it."""
        self.spent += self.job_nodes
        self.wasted += 0 if self.job_counts else self.job_nodes
        self.job, self.done, self.job_nodes, self.job_ms, self.job_counts = None, False, 0, 0, False

    def view(self) -> NodeView:
        return NodeView(
            node_id=self.node_id,
            alive=self.alive,
            job=self.leaf.label if self.busy else "idle",
            depth=self.line.depth if self.line else 0,
            score=self.line.score if self.line else None,
            nodes=self.nodes,
            nps=self.job_nodes * 1000 // self.job_ms if self.job_ms else 0,
            pv=self.line.pv if self.line else (),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What would be played now. ``line`` is None where the move is a legal one and no more."""

    move: str
    line: Line | None
    source: str
    ballots: tuple[Ballot, ...] = ()


@dataclass(slots=True)
class Search:
    """One search. Times are milliseconds of the driver's clock, not since the start."""

    request: SearchRequest
    root: Root
    settings: Settings
    started_ms: int
    soft_ms: int | None
    hard_ms: int | None
    phase: Phase = Phase.CONSULT
    presearch: Presearch = field(default_factory=lambda: Presearch(1))
    presearch_until_ms: int | None = None
    """None: the presearch ends by its node or depth limit."""
    ranking: tuple[str, ...] = ()
    """Every legal move, the likeliest best one first; empty until a tree was dealt."""
    tree: Tree = field(default_factory=Leaf)
    lines: dict[Leaf, Line] = field(default_factory=dict)
    """What is known of the tree's leaves."""
    works: dict[str, Work] = field(default_factory=dict)
    """By node id, in the order in which the nodes came; the dead stay, for viewers."""
    fallback: Work | None = None
    """None: there is no fallback now."""
    fallback_line: Line | None = None
    stopped: bool = False
    mate_seen: bool = False
    """Some line said that the root's side to move mates."""
    published_ms: int = -(2**40)
    dirty: bool = False
    """Something changed since the last progress."""

    @property
    def infinite(self) -> bool:
        return is_infinite(self.request)

    @property
    def nodes(self) -> int:
        return sum(work.nodes for work in self.works.values())

    def wasted(self, counted: Collection[str]) -> int:
        """Nodes searched for nothing, as `Decision.wasted` has it. ``counted``: the voters, where it is a vote."""
        total = 0
        for work in self.works.values():
            counts = work.job_counts if self.phase is Phase.SPLIT else work.node_id in counted
            total += work.wasted + (0 if counts else work.job_nodes)
        return total

    def busy(self) -> Iterator[Work]:
        return (work for work in self.works.values() if work.busy)

    def usable(self) -> list[Work]:
        """The nodes that can be given another job."""
        limit = self.request.nodes
        return [
            work
            for work in self.works.values()
            if work.alive and not work.failed and (limit is None or work.nodes < limit)
        ]

    def take_line(self, work: Work, line: Line, multipv: int) -> None:
        """Enter a checked line of ``work``'s job. A leaf keeps a deeper line that it had from an earlier job."""
        if multipv == 1:
            work.line = line
            if work.leaf == Leaf():
                work.ballot = line
        if self.phase is Phase.PRESEARCH:
            self.presearch.add(work.node_id, multipv, line)
        elif self.phase is Phase.SPLIT and multipv == 1:
            known = self.lines.get(work.leaf)
            if known is None or line.depth >= known.depth:
                self.lines[work.leaf] = line
                work.job_counts = True
        elif multipv == 1:
            work.job_counts = True

    def ballots(self) -> list[Ballot]:
        return [_ballot(work.node_id, work.ballot) for work in self.works.values() if work.ballot is not None]

    def nodes_answer(self) -> Answer | None:
        """What the nodes would play now, or None where none has an answer."""
        if self.phase is Phase.SPLIT:
            line = merge(self.tree, self.lines, self.settings.caution)
            return None if line is None else Answer(line.pv[0], line, "split", (_ballot("split", line),))
        ballots = comparable(self.ballots(), self.settings.ballot_depth_slack)
        if not ballots:
            return None
        chosen = count(ballots, self.settings.vote)
        ballot = self.works[chosen.voter].ballot
        assert ballot is not None
        return Answer(chosen.move, ballot, "vote", tuple(ballots))

    def answer(self) -> Answer:
        """What would be played now: the nodes' word, else the fallback's, else any legal move."""
        found = self.nodes_answer()
        if found is not None:
            return found
        if self.fallback_line is not None:
            return Answer(self.fallback_line.pv[0], self.fallback_line, "fallback")
        return Answer(self.root.legal[0], None, "fallback")

    def won(self) -> bool:
        """Whether the nodes' answer is a mate that is proven, being no longer than the search was deep."""
        found = self.nodes_answer()
        if found is None or found.line is None:
            return False
        line = found.line
        return line.score >= MATE_BOUND and line.bound is not Bound.UPPER and MATE - line.score <= line.depth

    def may_split(self, now_ms: int) -> bool:
        """Whether there are nodes and budget enough for a presearch and a split."""
        settings, request = self.settings, self.request
        return (
            settings.mode is Mode.SPLIT
            and len(self.usable()) >= 2
            and (self.soft_ms is None or self.soft_ms - now_ms >= settings.min_split_ms)
            and (request.nodes is None or request.nodes >= settings.min_split_nodes)
            and (request.depth is None or request.depth >= settings.min_split_depth)
        )

    def time_is_up(self, now_ms: int) -> bool:
        """At the soft time an answer is needed too: of the nodes, or after some patience of the fallback."""
        if self.hard_ms is not None and now_ms >= self.hard_ms:
            return True
        if self.soft_ms is None or now_ms < self.soft_ms:
            return False
        if self.nodes_answer() is not None or (self.stopped and self._nothing_runs()):
            return True
        patience_over = now_ms >= self.soft_ms + self.settings.answer_grace_ms or not any(self.busy())
        return self.fallback_line is not None and patience_over

    def work_is_over(self) -> bool:
        """Whether waiting any longer can bring nothing: a proven mate, or every job over."""
        if self.infinite:
            return False
        if any(self.busy()):
            return self.mate_seen and self.won()
        if self.soft_ms is not None and not any(work.alive for work in self.works.values()):
            return False  # a node may come back before the soft time
        return self.nodes_answer() is not None or self._nothing_runs()

    def _nothing_runs(self) -> bool:
        return not any(self.busy()) and (self.fallback is None or self.fallback.done)

    def progress(self, now_ms: int) -> Progress:
        line = self.answer().line
        return Progress(
            search_id=self.request.search_id,
            elapsed_ms=now_ms - self.started_ms,
            depth=line.depth if line else 0,
            score=line.score if line else None,
            pv=line.pv if line else (),
            nodes=self.nodes,
            fleet=self.views(),
        )

    def views(self) -> tuple[NodeView, ...]:
        return tuple(work.view() for work in self.works.values())


def _ballot(voter: str, line: Line) -> Ballot:
    return Ballot(voter, line.pv[0], line.score, line.depth, line.pv)


def is_infinite(request: SearchRequest) -> bool:
    """Whether only a stop ends the search (analysis, pondering)."""
    return request.soft_ms is None and request.nodes is None and request.depth is None
