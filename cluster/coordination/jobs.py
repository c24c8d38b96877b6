"""Jobs: a node's task with its limits, and the instructions for it."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from cluster.coordination.events import Instruction, LogEvent, SendJob, StopNode
from cluster.coordination.group import WHOLE_ROOT, Assignment, Group
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import Phase
from cluster.network.messages import Job
from cluster.split.evaluation import OPEN, Window
from cluster.split.tree import Leaf


class Dispatch:
    """The instructions of one coordinator, in order, and its job ids, which rise over all searches."""

    def __init__(self) -> None:
        self.out: list[Instruction] = []
        self.last_job_id = 0

    def give(self, search: Search, group: Group, assignment: Assignment, leaf: Leaf, now_ms: int) -> None:
        """Give a node a job for ``leaf``, unless its budget is used up."""
        assignment.settle(now_ms)
        job = node_job(search, group, assignment, leaf, self.last_job_id + 1, now_ms)
        if job is None:
            self.take_away(assignment, now_ms)
        else:
            self._send(assignment, job, leaf, now_ms)

    def give_fallback(self, search: Search, assignment: Assignment, now_ms: int) -> None:
        """Give the fallback the whole root, within its own limits."""
        self._send(assignment, fallback_job(search, self.last_job_id + 1, now_ms), WHOLE_ROOT, now_ms)

    def take_away(self, assignment: Assignment, now_ms: int) -> None:
        """End the job of ``assignment``, if it has one."""
        if assignment.busy and assignment.job is not None:
            self.out.append(StopNode(assignment.node_id, assignment.job.job_id))
        assignment.settle(now_ms)
        assignment.drop()

    def log(self, name: str, **fields: object) -> None:
        self.out.append(LogEvent(name, fields))

    def _send(self, assignment: Assignment, job: Job, leaf: Leaf, now_ms: int) -> None:
        self.last_job_id = job.job_id
        assignment.give(job, leaf, now_ms)
        self.out.append(SendJob(assignment.node_id, job))


def node_job(search: Search, group: Group, assignment: Assignment, leaf: Leaf, job_id: int, now_ms: int) -> Job | None:
    """The job for ``leaf`` of the group's tree: in the presearch with its MultiPV and its share of the limits.

    A node limit applies to all jobs of a node in one search. None: this node's limit is used up.
    """
    request, settings = search.request, search.settings
    nodes = None if request.nodes is None else max(0, request.nodes - assignment.nodes)
    depth, multipv = request.depth, request.multipv
    window = group.windows.get(leaf, OPEN) if isinstance(group, SplitGroup) else OPEN
    if isinstance(group, SplitGroup) and group.phase is Phase.PRESEARCH and assignment not in group.root_searchers:
        multipv = group.presearch.multipv
        if nodes is not None and request.nodes is not None:
            nodes = min(nodes, max(1, int(request.nodes * settings.presearch_share)))
        if depth is not None:
            depth //= 2
    if nodes == 0:
        return None
    return _job(search, leaf, job_id, now_ms, window, multipv=multipv, nodes=nodes, depth=depth)


def fallback_job(search: Search, job_id: int, now_ms: int) -> Job:
    """The job for the fallback: the whole root, on its current terms.

    Only one line: a shared CPU is better spent on the move that may have to be played.
    """
    terms = fallback_terms(search)
    job = _job(search, WHOLE_ROOT, job_id, now_ms, OPEN, multipv=1, nodes=terms.nodes, depth=search.request.depth)
    return structs.replace(job, background=terms.background)


class FallbackTerms(NamedTuple):
    """How much of its machine the fallback may use."""

    background: bool
    """Whether it gives way to everything else there: nodes will answer."""
    nodes: int | None
    """Its node limit; None: no limit."""
    waits: bool
    """Whether it begins only if the nodes report no line soon."""


def fallback_terms(search: Search) -> FallbackTerms:
    """While there are nodes, the fallback runs in the background. If one of them runs on the same machine, that node
    needs the CPU, so the fallback first waits and is limited."""
    usable = search.usable()
    beside = any(search.roster.facts(assignment.node_id).beside_master for assignment in usable)
    limits = (search.request.nodes, search.settings.fallback_nodes if beside else None)
    nodes = min((limit for limit in limits if limit is not None), default=None)
    return FallbackTerms(background=bool(usable), nodes=nodes, waits=beside)


def fallback_begins_ms(search: Search, now_ms: int) -> int:
    """The time at which a waiting fallback begins if no node has reported a line: at the latest after half of a short
    search."""
    wait_ms = search.settings.fallback_wait_ms
    if search.soft_ms is not None:
        wait_ms = min(wait_ms, max(0, search.soft_ms - now_ms) // 2)
    return now_ms + wait_ms


def _job(
    search: Search,
    leaf: Leaf,
    job_id: int,
    now_ms: int,
    window: Window,
    *,
    multipv: int,
    nodes: int | None,
    depth: int | None,
) -> Job:
    """Make a job with the hard deadline as its own limit, so that a node that loses its master stops by itself."""
    request = search.request
    draw_black, draw_white = search.root.draw_values
    return Job(
        search_id=request.search_id,
        job_id=job_id,
        sfen=request.sfen,
        moves=(*request.moves, *leaf.path),
        searchmoves=leaf.moves or (() if leaf.path else request.searchmoves),
        ignoremoves=leaf.ignore,
        multipv=multipv,
        movetime_ms=None if search.hard_ms is None else max(1, search.hard_ms - now_ms),
        nodes=nodes,
        depth=None if depth is None else max(1, depth - len(leaf.path)),
        alpha=window.alpha,
        beta=window.beta,
        max_moves=request.max_moves,
        draw_black=draw_black,
        draw_white=draw_white,
        entering=request.entering,
    )
