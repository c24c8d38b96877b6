"""A group: nodes that search together and have one answer; and each node's part in a search, its `Assignment`.

A search has one group or many, and groups vote (`cluster.coordination.vote`). A plain `Group` is one node that searches
the whole root. Two or more nodes share a tree: a `cluster.coordination.split_group.SplitGroup`, which has no vote
inside, only the negamax of its tree. One group of all nodes is a plain split; one group per node is plain consultation;
anything between is the two tiers of Gikou's consultation of clusters. Losses, joins and re-deals concern one group
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cluster.api import NodeView
from cluster.coordination.states import GROUP, Phase
from cluster.network.messages import Done, Job
from cluster.split.tree import Leaf, TakeoverMargin, TreeLine, replaces
from worker.engine import Bound
from worker.states import TransitionError

WHOLE_ROOT: Final = Leaf()
_USUAL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class _Ended:
    """A job that was stopped before it was finished."""

    nodes: int
    """Nodes counted until then."""
    counts: bool
    """Like `Assignment.job_counts`."""


@dataclass(slots=True, eq=False)
class Assignment:
    """A node's part in one search. If the node is gone, its results stay."""

    node_id: str
    can_split: bool = True
    """See `cluster.coordination.events.NodeJoined`."""
    engine: str = ""
    alive: bool = True
    """It can be given jobs. A node that is not alive has no job."""
    failed: bool = False
    """Its engine refused a job of this search; it gets no other."""
    refused: int = 0
    """Reports of this search that were not legal."""
    job: Job | None = None
    leaf: Leaf = field(default=WHOLE_ROOT)
    """The part of the tree that ``job`` searches."""
    sent_ms: int = 0
    done: bool = False
    """``job`` is over."""
    job_nodes: int = 0
    job_ms: int = 0
    spent: int = 0
    """Nodes searched in jobs before ``job``."""
    job_counts: bool = False
    """A line of ``job`` has contributed to the answer."""
    wasted: int = 0
    """The part of ``spent`` that was searched in jobs which contributed nothing."""
    ended: dict[int, _Ended] = field(default_factory=dict)
    """Jobs that were stopped early, by job id; their `Done` will report the nodes that they searched."""
    line: TreeLine | None = None
    """The last line it reported."""
    ballot: TreeLine | None = None
    """Its vote: the last line on the whole root of the job ``ballot_job``."""
    ballot_job: int = 0
    """The id of that job; 0: there is no ballot yet."""
    exact: dict[str, TreeLine] = field(default_factory=dict)
    """By root move, the deepest line with an exact score that it reported."""
    lines: dict[int, TreeLine] = field(default_factory=dict)
    """The last lines on the whole root, by MultiPV number, if several are requested."""
    lines_job: int = 0
    """The id of their job."""
    seldepth: int = 0
    """From the last report, like ``hashfull``."""
    hashfull: int = 0

    @property
    def busy(self) -> bool:
        return self.job is not None and not self.done

    @property
    def nodes(self) -> int:
        return self.spent + self.job_nodes

    def searched(self, now_ms: int, nps: float) -> int:
        """`nodes`, plus an estimate for the running job since its last report, from its speed.

        Args:
            nps: the node's usual speed, 0 if unknown. It is used for the job's first moments, whose reports arrive too
                fast to give a speed.
        """
        if self.job is None or self.done:
            return self.nodes
        usual_ms = _USUAL_MS if nps else 0
        known_ms = self.job_ms + usual_ms
        since_ms = max(0, now_ms - self.sent_ms - self.job_ms)
        since = (self.job_nodes + nps * usual_ms / 1000) * since_ms / known_ms if known_ms else 0.0
        job_nodes = self.job_nodes + round(since)
        return self.spent + (job_nodes if self.job.nodes is None else min(job_nodes, self.job.nodes))

    def can_take_job(self, limit: int | None) -> bool:
        """Whether it can be given another job; ``limit``: the node limit for all its jobs in this search."""
        return self.alive and not self.failed and (limit is None or self.nodes < limit)

    def vote_for(self, line: TreeLine) -> bool:
        """Take a line on the whole root as the vote; False: an earlier job went deeper, and its vote stays."""
        assert self.job is not None
        if self.ballot_job != self.job.job_id:
            if not replaces(line, self.ballot):
                return False
        elif self.ballot is not None and line.pv[0] == self.ballot.pv[0] and not replaces(line, self.ballot):
            return True  # the exact line at a job's end is older than the bound at which it was stopped
        self.ballot, self.ballot_job = line, self.job.job_id
        return True

    def keep_line(self, line: TreeLine, multipv: int) -> None:
        """Keep one of several lines of the whole root. All kept lines belong to the job of the vote; a later job takes
        over when it is as deep."""
        if self.job is not None and self.ballot_job == self.job.job_id:
            if self.lines_job != self.ballot_job:
                self.lines.clear()
            self.lines_job = self.ballot_job
            self.lines[multipv] = line

    def note_exact(self, line: TreeLine) -> None:
        """Remember a reported line that gives the value of a root move, and not only of one reply to it."""
        if line.bound is Bound.EXACT and not self.leaf.path and replaces(line, self.exact.get(line.pv[0])):
            self.exact[line.pv[0]] = line

    def give(self, job: Job, leaf: Leaf, now_ms: int) -> None:
        self.drop()
        self.job, self.leaf, self.sent_ms = job, leaf, now_ms

    def settle(self, now_ms: int) -> None:
        """Account for a job that is to end early: it has used the part of the node limit that its node, by its speed,
        has searched so far."""
        if self.job is not None and self.busy and self.job.nodes is not None and self.job_ms:
            searched = self.job_nodes * (now_ms - self.sent_ms) // self.job_ms
            self.job_nodes = max(self.job_nodes, min(searched, self.job.nodes))

    def drop(self) -> None:
        """Forget the job, but keep its results."""
        if self.job is not None and self.busy and self.job.nodes is None:  # otherwise it was settled
            self.ended[self.job.job_id] = _Ended(self.job_nodes, self.job_counts)
        self.spent += self.job_nodes
        self.wasted += 0 if self.job_counts else self.job_nodes
        self.job, self.done, self.job_nodes, self.job_ms, self.job_counts = None, False, 0, 0, False

    def done_late(self, done: Done) -> bool:
        """Count the nodes that a job stopped early has searched since its last report. False: the job is not one of
        these."""
        ended = self.ended.pop(done.job_id, None)
        if ended is None:
            return False
        more = max(0, done.nodes - ended.nodes)
        self.spent += more
        self.wasted += 0 if ended.counts else more
        return True

    def view(self, speed: float, searched: int) -> NodeView:
        """The node as viewers see it; ``searched``: see the method of that name."""
        return NodeView(
            node_id=self.node_id,
            alive=self.alive,
            job=self.leaf.label if self.busy else "idle",
            depth=self.line.depth if self.line else 0,
            score=self.line.score if self.line else None,
            nodes=searched,
            nps=self.job_nodes * 1000 // self.job_ms if self.job_ms else 0,
            pv=self.line.pv if self.line else (),
            seldepth=self.seldepth,
            hashfull=self.hashfull,
            speed=speed,
        )


class Voter(NamedTuple):
    """One that has an answer: a node, or a group that has dealt its tree."""

    name: str
    engine: str
    line: TreeLine
    nodes: int
    """Nodes searched by all its members."""
    members: Sequence[str]
    """Ids of the nodes that searched for it; at least one."""


@dataclass(slots=True, eq=False)
class Group:
    """A node that searches the whole root for itself. Times are milliseconds of the driver's clock."""

    name: str
    """The voter's name: the node's id if it is one node, else ``split``, or ``group-1`` … if there are several."""
    assignments: list[Assignment]
    """In the order in which the nodes joined; dead nodes stay."""
    phase: Phase = Phase.WHOLE

    def enter(self, phase: Phase) -> None:
        """Change to ``phase``. Raises TransitionError if there is no transition to it from the current one."""
        if phase not in GROUP[self.phase]:
            raise TransitionError(f"{self.name}: from {self.phase} to {phase}: not in the table")
        self.phase = phase

    def take_line(self, assignment: Assignment, line: TreeLine, multipv: int) -> None:
        """Record a checked line of ``assignment``'s job."""
        if multipv == 1:
            assignment.line = line
            assignment.job_counts |= assignment.vote_for(line)

    def voters(self, takeover: TakeoverMargin) -> Iterable[Voter]:
        """The voters that have an answer."""
        return [
            Voter(assignment.node_id, assignment.engine, assignment.ballot, assignment.nodes, (assignment.node_id,))
            for assignment in self.assignments
            if assignment.ballot is not None
        ]

    def lines(self) -> Iterator[TreeLine]:
        """The lines that currently represent the root."""
        return (assignment.ballot for assignment in self.assignments if assignment.ballot is not None)
