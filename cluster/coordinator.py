"""One search at a time over the fleet, as a pure state machine: events in, instructions out.

Nothing here does I/O, reads a clock or starts a thread. A driver hands in what happened and when (`Coordinator.handle`)
and does what comes back. So each fault (a node dies between two reports, a late report of an old job, a flag about to
fall) is a plain unit test, and the same code runs on real nodes and in virtual time.

A search, in order::

    Start ─ no move, one move, declaration ──────────────────────────────► decided ("forced")
      │
      ├─ two nodes or more, budget large enough ─► PRESEARCH ─ ranked ─► SPLIT   (re-dealt when a node leaves or comes)
      │                                               │ fewer than two nodes left
      └─ else ────────────────────────────────────────┴────────────────► CONSULT
    every phase ─ soft time and an answer · all jobs over · a proven mate · StopSearch · hard deadline ─► decided

Invariants, checked after each event with `Settings.validate`:

- every `Start` is followed by exactly one `Decide`, at the latest by the first event at or after its hard deadline;
- what is decided is a legal move, ``resign`` where there is none, or ``win``;
- a job runs only on a node that lives, and in a split no two nodes have the same leaf;
- the leaves of the tree hold each legal move exactly once;
- every line that is kept is legal from the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cluster.api import Decision, SearchRequest
from cluster.consultation import agreement
from cluster.events import (
    FALLBACK,
    Decide,
    Event,
    Instruction,
    LogEvent,
    NodeJoined,
    NodeLost,
    Publish,
    Received,
    SendJob,
    Start,
    StopNode,
    StopSearch,
    Tick,
)
from cluster.invariants import check
from cluster.jobs import fallback_job, node_job
from cluster.messages import Done, Heartbeat, Report
from cluster.ranking import Presearch, rank_moves
from cluster.root import Root, check_request
from cluster.search_state import Answer, Phase, Search, Work, is_infinite
from cluster.settings import Settings
from cluster.split import Leaf, Line, flat, inherit, leaves, line_from_root
from worker.score import MATE_BOUND


class Coordinator:
    """See the module's text. ``handle`` is the only thing that changes it."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._live: dict[str, None] = {}
        """Nodes that can search, in the order in which they came; without the fallback."""
        self._fallback_live = False
        self._search: Search | None = None
        self._last_search_id = -1
        self._last_job_id = 0
        self._out: list[Instruction] = []

    @property
    def searching(self) -> bool:
        return self._search is not None

    @property
    def live(self) -> tuple[str, ...]:
        return tuple(self._live)

    def handle(self, event: Event, now_ms: int) -> list[Instruction]:
        """Take an event that happened at ``now_ms`` (any steady clock) and say what is to be done, in this order.

        Raises:
            ValueError: a `Start` that cannot be searched (position, moves, limits, a search id that does not rise); the
                coordinator is as it was.
        """
        self._out = []
        match event:
            case Start():
                self._start(event.request, now_ms)
            case StopSearch():
                self._stop(event.search_id, now_ms)
            case NodeJoined():
                self._joined(event.node_id, now_ms)
            case NodeLost():
                self._lost(event.node_id, event.reason, now_ms)
            case Received():
                self._received(event.message, now_ms)
            case Tick():
                pass
        if self._search is not None:
            self._advance(self._search, now_ms)
        if self._search is not None:
            self._publish(self._search, now_ms)
        if self._search is not None and self.settings.validate:
            check(self._search, self._live)
        return self._out

    def wake_ms(self, now_ms: int) -> int | None:
        """When the next `Tick` is due, later than ``now_ms``; None: only an event can change anything."""
        search = self._search
        if search is None:
            return None
        settings = self.settings
        times = [search.soft_ms, search.hard_ms]
        if search.phase is Phase.PRESEARCH:
            times.append(search.presearch_until_ms)
        if search.soft_ms is not None:
            times.append(search.soft_ms + settings.answer_grace_ms)
        if search.dirty:
            times.append(search.published_ms + settings.progress_ms)
        return min((time for time in times if time is not None and time > now_ms), default=None)

    # --- events ---------------------------------------------------------------------------------------------------

    def _start(self, request: SearchRequest, now_ms: int) -> None:
        check_request(request, self._last_search_id)
        root = Root(request)
        if self._search is not None:
            self._decide(self._search, now_ms)
        self._last_search_id = request.search_id
        if not root.legal or root.may_declare or (len(root.legal) == 1 and not is_infinite(request)):
            self._decide_forced(request, root)
            return
        hard = None
        if request.hard_ms is not None:
            hard = now_ms + request.hard_ms - min(self.settings.deadline_margin_ms, request.hard_ms // 2)
        soft = None if request.soft_ms is None else now_ms + request.soft_ms
        if soft is not None and hard is not None:
            soft = min(soft, hard)
        search = self._search = Search(request, root, self.settings, now_ms, soft, hard)
        search.works = {node_id: Work(node_id) for node_id in self._live}
        if search.may_split(now_ms):
            self._begin_presearch(search, now_ms)
        self._log(
            "search_started",
            search_id=request.search_id,
            phase=search.phase.value,
            nodes=len(search.works),
            soft_ms=request.soft_ms,
            hard_ms=request.hard_ms,
        )
        for work in search.works.values():
            self._give_whole(search, work, now_ms)
        if self._fallback_live:
            search.fallback = Work(FALLBACK)
            self._give_fallback(search, search.fallback, now_ms)

    def _stop(self, search_id: int, now_ms: int) -> None:
        search = self._search
        if search is None or search.request.search_id != search_id or search.stopped:
            return
        search.stopped = True
        search.soft_ms = now_ms
        latest = now_ms + self.settings.stop_grace_ms
        search.hard_ms = latest if search.hard_ms is None else min(search.hard_ms, latest)

    def _joined(self, node_id: str, now_ms: int) -> None:
        search = self._search
        if node_id == FALLBACK:
            self._fallback_live = True
            if search is not None:
                search.fallback = Work(FALLBACK)
                self._give_fallback(search, search.fallback, now_ms)
            return
        if node_id in self._live:
            self._lost(node_id, "began anew", now_ms)
        self._live[node_id] = None
        self._log("node_joined", node=node_id, live=len(self._live))
        if search is None:
            return
        work = search.works.setdefault(node_id, Work(node_id))
        work.alive, work.failed = True, False
        search.dirty = True
        if search.soft_ms is not None and search.soft_ms - now_ms < self.settings.min_redeal_ms:
            return
        if search.phase is Phase.SPLIT:
            self._redeal(search, now_ms, f"{node_id} joined")
        else:
            self._give_whole(search, work, now_ms)

    def _lost(self, node_id: str, reason: str, now_ms: int) -> None:
        search = self._search
        if node_id == FALLBACK:
            self._fallback_live = False
            self._log("fallback_lost", reason=reason)
            if search is not None:
                search.fallback = None
            return
        if node_id not in self._live:
            return
        del self._live[node_id]
        self._log("node_lost", node=node_id, reason=reason, live=len(self._live))
        if search is None or node_id not in search.works:
            return
        work = search.works[node_id]
        work.drop()
        work.alive = False
        self._withdrawn(search, now_ms, f"{node_id} lost")

    def _withdrawn(self, search: Search, now_ms: int, why: str) -> None:
        """A node can no longer be used in this search: what it did goes to those that are left."""
        search.dirty = True
        if search.phase is Phase.SPLIT:
            self._redeal(search, now_ms, why)
        elif search.phase is Phase.PRESEARCH and len(search.usable()) < 2:
            search.phase = Phase.CONSULT
            for work in search.usable():
                self._give_whole(search, work, now_ms)
        self._wake_fallback(search, now_ms)

    def _received(self, message: Report | Done | Heartbeat, now_ms: int) -> None:
        search = self._search
        work = None
        if search is not None:
            work = search.fallback if message.node_id == FALLBACK else search.works.get(message.node_id)
        if isinstance(message, Heartbeat):
            self._heartbeat(message, work, now_ms)
            return
        if search is None or work is None or work.job is None:
            return
        if message.search_id != search.request.search_id or message.job_id != work.job.job_id:
            return
        if isinstance(message, Report):
            self._report(search, work, message, now_ms)
        elif not work.done:
            self._done(search, work, message, now_ms)

    def _report(self, search: Search, work: Work, report: Report, now_ms: int) -> None:
        leaf = work.leaf
        line = line_from_root(leaf, report.depth, report.score, report.bound, report.pv)
        legal = search.root.legal_part(line.pv)
        if not leaf.holds(legal):
            shown = " ".join(line.pv[len(leaf.path) : len(leaf.path) + 3])
            self._log("report_refused", node=work.node_id, job=leaf.label, pv=shown, why="not a legal move of the job")
            work.refused += 1
            if work.refused >= self.settings.refusals:
                self._take_away(work)
                self._failed(search, work, "its reports are not legal", now_ms)
            return
        if len(legal) < len(line.pv):
            self._log("pv_cut", node=work.node_id, at=len(legal), move=line.pv[len(legal)])
            line = replace(line, pv=legal)
        work.job_nodes = max(work.job_nodes, report.nodes)
        work.job_ms = max(work.job_ms, report.time_ms)
        search.dirty = True
        search.mate_seen |= line.score >= MATE_BOUND
        if work.node_id != FALLBACK:
            search.take_line(work, line, report.multipv)
        elif report.multipv == 1:
            search.fallback_line = line

    def _done(self, search: Search, work: Work, done: Done, now_ms: int) -> None:
        work.done = True
        work.job_nodes = max(work.job_nodes, done.nodes)
        work.job_ms = max(work.job_ms, done.time_ms)
        search.dirty = True
        if done.error:
            self._failed(search, work, done.error, now_ms)
        elif work.node_id == FALLBACK:
            self._wake_fallback(search, now_ms)

    def _failed(self, search: Search, work: Work, error: str, now_ms: int) -> None:
        """The node is here, but its engine is of no use in this search."""
        self._log("job_failed", node=work.node_id, job=work.leaf.label, error=error)
        if work.node_id == FALLBACK:
            search.fallback = None
            return
        work.failed = True
        work.drop()
        self._withdrawn(search, now_ms, f"{work.node_id} failed")

    def _heartbeat(self, beat: Heartbeat, work: Work | None, now_ms: int) -> None:
        """Messages can be lost where a connection is made anew: what the node says it does is compared with its job."""
        if work is None or work.job is None or not work.busy:
            if not beat.idle:
                self._out.append(StopNode(beat.node_id, beat.job_id))
            return
        if now_ms - work.sent_ms < self.settings.resend_ms:
            return
        if beat.job_id < work.job.job_id:
            work.sent_ms = now_ms
            self._log("job_resent", node=work.node_id, job=work.leaf.label)
            self._out.append(SendJob(work.node_id, work.job))
        elif beat.idle:
            work.done = True

    # --- the way of a search --------------------------------------------------------------------------------------

    def _begin_presearch(self, search: Search, now_ms: int) -> None:
        settings = self.settings
        search.phase = Phase.PRESEARCH
        multipv = min(len(search.works) - 1, len(search.root.legal), settings.presearch_multipv)
        search.presearch = Presearch(multipv)
        if search.soft_ms is not None:
            length = int((search.soft_ms - now_ms) * settings.presearch_share)
            search.presearch_until_ms = now_ms + min(max(length, settings.presearch_min_ms), settings.presearch_max_ms)
        elif search.infinite:
            search.presearch_until_ms = now_ms + settings.presearch_max_ms

    def _advance(self, search: Search, now_ms: int) -> None:
        """Do what the time or the last event has made due."""
        if search.time_is_up(now_ms):
            self._decide(search, now_ms)
            return
        if search.phase is Phase.PRESEARCH and not search.stopped:
            self._end_presearch(search, now_ms)
        if search.phase is not Phase.PRESEARCH and search.work_is_over():
            self._decide(search, now_ms)

    def _end_presearch(self, search: Search, now_ms: int) -> None:
        """Go on to the split where the presearch is over; one that brought nothing ends in consultation."""
        idle = not any(search.busy())
        if not idle and (search.presearch_until_ms is None or now_ms < search.presearch_until_ms):
            return
        found = search.presearch.lines()
        if found:
            search.phase = Phase.SPLIT
            search.ranking = rank_moves(found, search.root.legal)
            for work in search.works.values():
                work.job_counts = work.node_id == search.presearch.node_id
                self._take_away(work)
            self._deal(search, found, now_ms, "presearch")
        elif idle:
            search.phase = Phase.CONSULT
            for work in search.usable():
                self._give_whole(search, work, now_ms)

    def _redeal(self, search: Search, now_ms: int, why: str) -> None:
        """Deal again over the nodes that are left, the move that would be played now first."""
        best = search.nodes_answer()
        if best is not None:
            search.ranking = (best.move, *(move for move in search.ranking if move != best.move))
        self._deal(search, tuple(search.lines.values()), now_ms, why)

    def _deal(self, search: Search, known: Sequence[Line], now_ms: int, why: str) -> None:
        """Deal the root's moves by the ranking; leaves that stay, stay where they are searched.

        With no node left the tree and what is known of it stay as they are.
        """
        nodes = search.usable()
        if not nodes:
            return
        search.tree = flat(search.ranking, len(nodes))
        search.lines = inherit(search.tree, known, search.ranking, self.settings.caution)
        wanted = dict.fromkeys(leaves(search.tree))
        free: list[Work] = []
        for work in search.works.values():
            if work.job is not None and work.leaf in wanted:
                del wanted[work.leaf]
            elif work in nodes:
                free.append(work)
            else:
                self._take_away(work)
        for leaf, work in zip(wanted, free, strict=False):
            self._give(search, work, leaf, now_ms)
        for work in free[len(wanted) :]:
            self._take_away(work)
        self._log(
            "dealt",
            search_id=search.request.search_id,
            why=why,
            leaves={work.node_id: work.leaf.label for work in nodes if work.job is not None},
            at_ms=now_ms - search.started_ms,
        )
        search.dirty = True

    # --- jobs -----------------------------------------------------------------------------------------------------

    def _give_whole(self, search: Search, work: Work, now_ms: int) -> None:
        """The whole root: in the presearch with its MultiPV and its share of the limits, else as a voter."""
        self._give(search, work, Leaf(), now_ms)

    def _give(self, search: Search, work: Work, leaf: Leaf, now_ms: int) -> None:
        """A job for ``leaf``; where the node's budget is used up, none."""
        job = node_job(search, work, leaf, self._last_job_id + 1, now_ms)
        if job is None:
            self._take_away(work)
            return
        self._last_job_id = job.job_id
        work.give(job, leaf, now_ms)
        self._out.append(SendJob(work.node_id, job))

    def _give_fallback(self, search: Search, work: Work, now_ms: int) -> None:
        job = fallback_job(search, self._last_job_id + 1, now_ms)
        self._last_job_id = job.job_id
        work.give(job, Leaf(), now_ms)
        self._out.append(SendJob(FALLBACK, job))

    def _wake_fallback(self, search: Search, now_ms: int) -> None:
        """A fallback that rests, having spared the nodes its share of the CPU, goes on once no node is left."""
        work = search.fallback
        rests = work is not None and work.done and work.job is not None and work.job.nodes != search.request.nodes
        if work is not None and rests and not search.usable():
            self._give_fallback(search, work, now_ms)

    def _take_away(self, work: Work) -> None:
        if work.busy and work.job is not None:
            self._out.append(StopNode(work.node_id, work.job.job_id))
        work.drop()

    # --- the end --------------------------------------------------------------------------------------------------

    def _decide(self, search: Search, now_ms: int) -> None:
        answer = search.answer()
        line = answer.line
        decision = Decision(
            search_id=search.request.search_id,
            move=answer.move,
            score=line.score if line else None,
            depth=line.depth if line else 0,
            pv=line.pv if line else (answer.move,),
            nodes=search.nodes,
            elapsed_ms=now_ms - search.started_ms,
            source=answer.source,
            ballots=answer.ballots,
            fleet=search.views(),
            wasted=search.wasted([ballot.voter for ballot in answer.ballots]),
        )
        self._search = None
        self._out.append(Decide(decision))
        self._log_decision(decision, answer)
        for work in (*search.works.values(), *((search.fallback,) if search.fallback else ())):
            self._take_away(work)

    def _decide_forced(self, request: SearchRequest, root: Root) -> None:
        move = "resign" if not root.legal else "win" if root.may_declare else root.legal[0]
        pv = (move,) if move in root.legal else ()
        decision = Decision(request.search_id, move, None, 0, pv, 0, 0, "forced")
        self._out.append(Decide(decision))
        self._log_decision(decision, Answer(move, None, "forced"))

    def _log_decision(self, decision: Decision, answer: Answer) -> None:
        self._log(
            "decided",
            search_id=decision.search_id,
            move=decision.move,
            source=decision.source,
            score=decision.score,
            depth=decision.depth,
            nodes=decision.nodes,
            wasted=decision.wasted,
            elapsed_ms=decision.elapsed_ms,
            agreement=round(agreement(answer.ballots, answer.move), 3),
        )

    def _publish(self, search: Search, now_ms: int) -> None:
        if search.dirty and now_ms - search.published_ms >= self.settings.progress_ms:
            search.dirty = False
            search.published_ms = now_ms
            self._out.append(Publish(search.progress(now_ms)))

    def _log(self, name: str, **fields: object) -> None:
        self._out.append(LogEvent(name, fields))
