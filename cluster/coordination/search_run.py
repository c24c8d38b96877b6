"""The run of one search, from its first jobs to its decision. The coordinator starts it and passes events to it.

`cluster.coordination.group` has the parts that concern one group. Each group goes through its phases independently. In
any phase the search can end: at the soft time with an answer, when all jobs are over, with a proven mate, by a stop, or
at the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from cluster.api import SearchRequest
from cluster.coordination.decision import decision_of, progress_of, say_decision
from cluster.coordination.events import FALLBACK, SendJob, StopNode
from cluster.coordination.group import WHOLE_ROOT, Assignment, Group
from cluster.coordination.jobs import Dispatch, fallback_begins_ms, fallback_terms
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.split_run import SplitRun
from cluster.coordination.states import Phase, SearchState
from cluster.network.messages import Done, Heartbeat, Report
from cluster.split.tree import TreeLine, line_from_root, proves_mate

_REFRESH_MS: Final = 1000
"""Time after which a search with a soft time is reported even if nothing has changed, so that the soft time can be
revised."""


class SearchRun:
    """A running search. After its decision it is ``over``, and no method may be called."""

    def __init__(self, search: Search, dispatch: Dispatch) -> None:
        self.search = search
        self._dispatch = dispatch
        self._split = SplitRun(search, dispatch)

    @property
    def over(self) -> bool:
        return self.search.state is SearchState.OVER

    def begin(self, node_ids: Iterable[str], fallback: bool, now_ms: int) -> None:
        """Give every node its first job."""
        search = self.search
        search.form(node_ids, now_ms)
        for group in search.groups:
            if isinstance(group, SplitGroup):
                self._split.begin(group, now_ms)
        if not search.pondering:
            self._log_start()
        for group in search.groups:
            for assignment in group.assignments:
                self._dispatch.give(search, group, assignment, WHOLE_ROOT, now_ms)
        if fallback:
            self.fallback_joined(now_ms)

    def _log_start(self) -> None:
        search = self.search
        self._dispatch.log(
            "search_started",
            search_id=search.request.search_id,
            phase="presearch" if search.presearching else "consult",
            nodes=len(search.assignments),
            groups=len(search.groups),
            soft_ms=search.request.soft_ms,
            hard_ms=search.request.hard_ms,
            pondered_ms=search.pondered_ms,
        )

    def hit(
        self, request: SearchRequest, soft_ms: int | None, hard_ms: int | None, fallback: bool, now_ms: int
    ) -> None:
        """Continue with a pondered position, with these limits and with the nodes that are free now. Jobs stay."""
        search = self.search
        search.to(SearchState.RUNNING, now_ms)
        search.request = request
        search.pondered_ms, search.started_ms = now_ms - search.started_ms, now_ms
        search.soft_ms, search.hard_ms = soft_ms, hard_ms
        search.dirty = True
        if not search.infinite and self._is_won():
            self._log_start()
            self.decide(now_ms)
            return
        # A tree is dealt again only if there is time for it; a node that searches the whole root costs the others
        # nothing.
        alone = soft_ms is not None and soft_ms - now_ms < search.settings.min_redeal_ms
        new = [node_id for node_id in search.roster if node_id not in search.assignments]
        self._add_nodes(new, now_ms, "ponder hit", alone=alone)
        self._log_start()
        if fallback:
            self.fallback_joined(now_ms)

    def _add_nodes(self, node_ids: Sequence[str], now_ms: int, why: str, *, alone: bool = False) -> None:
        """Add nodes that are new to this search. ``alone``: each as its own group."""
        search = self.search
        touched: dict[Group, list[Assignment]] = {}
        for node_id in node_ids:
            assignment, group = search.join(node_id, now_ms, alone=alone)
            touched.setdefault(group, []).append(assignment)
        for group, assignments in touched.items():
            if isinstance(group, SplitGroup) and group.phase is Phase.SPLIT:
                self._split.deal(group, now_ms, why)
                continue
            if isinstance(group, SplitGroup) and group.phase is Phase.WHOLE:
                self._split.begin(group, now_ms)
            for assignment in assignments:
                self._dispatch.give(search, group, assignment, WHOLE_ROOT, now_ms)

    def abandon(self, now_ms: int) -> None:
        """End without a decision."""
        self.search.to(SearchState.OVER, now_ms)
        self._take_all_away(now_ms)

    def retime(self, soft_ms: int) -> None:
        """Change the soft time, in milliseconds after the start."""
        search = self.search
        if search.state is SearchState.STOPPING or search.soft_ms is None:
            return
        search.soft_ms = search.started_ms + soft_ms
        if search.hard_ms is not None:
            search.soft_ms = min(search.soft_ms, search.hard_ms)

    def stop(self, now_ms: int) -> None:
        """Request the decision now."""
        search = self.search
        if search.state is not SearchState.RUNNING:
            return
        search.to(SearchState.STOPPING, now_ms)
        search.soft_ms = now_ms
        latest = now_ms + search.settings.stop_grace_ms
        search.hard_ms = latest if search.hard_ms is None else min(search.hard_ms, latest)

    # --- nodes come and go ----------------------------------------------------------------------------------------

    def joined(self, node_id: str, now_ms: int) -> None:
        search = self.search
        late = search.soft_ms is not None and search.soft_ms - now_ms < search.settings.min_redeal_ms
        if node_id not in search.assignments:
            if not late:
                self._add_nodes([node_id], now_ms, f"{node_id} joined")
                self._mind_fallback(now_ms)
            return
        assignment, group = search.back(node_id)
        if late:
            return
        if isinstance(group, SplitGroup) and group.phase is Phase.SPLIT:
            self._split.deal(group, now_ms, f"{node_id} joined")
        else:
            self._dispatch.give(search, group, assignment, WHOLE_ROOT, now_ms)
        self._mind_fallback(now_ms)

    def lost(self, node_id: str, now_ms: int) -> None:
        assignment = self.search.assignments.get(node_id)
        if assignment is None:
            return
        assignment.drop()
        assignment.ended.clear()
        assignment.alive = False
        self._withdrawn(assignment, now_ms, f"{node_id} lost")

    def fallback_joined(self, now_ms: int) -> None:
        search = self.search
        search.fallback = Assignment(FALLBACK)
        search.fallback_ms = fallback_begins_ms(search, now_ms)
        self._mind_fallback(now_ms)

    def fallback_lost(self) -> None:
        self.search.fallback = self.search.fallback_ms = None

    def _withdrawn(self, assignment: Assignment, now_ms: int, why: str) -> None:
        """A node can no longer be used in this search: its work goes to the remaining nodes of its group."""
        search, group = self.search, self.search.group_of(assignment)
        search.dirty = True
        if isinstance(group, SplitGroup):
            self._split.withdrawn(group, now_ms, why)
        self._mind_fallback(now_ms)

    def _failed(self, assignment: Assignment, error: str, now_ms: int) -> None:
        """The node is live, but its engine cannot be used in this search."""
        self._dispatch.log("job_failed", node=assignment.node_id, job=assignment.leaf.label, error=error)
        if assignment.node_id == FALLBACK:
            self.fallback_lost()
            return
        assignment.failed = True
        assignment.drop()
        self._withdrawn(assignment, now_ms, f"{assignment.node_id} failed")

    # --- messages -------------------------------------------------------------------------------------------------

    def _assignment_of(self, node_id: str) -> Assignment | None:
        return self.search.fallback if node_id == FALLBACK else self.search.assignments.get(node_id)

    def received(self, message: Report | Done, now_ms: int) -> None:
        """Handle a message about a job. For a job other than the node's current one, only its node count is used."""
        assignment = self._assignment_of(message.node_id)
        if assignment is None:
            return
        job = assignment.job
        if job is None or message.job_id != job.job_id or message.search_id != job.search_id:
            if isinstance(message, Done) and assignment.done_late(message):
                self.search.dirty = True
        elif isinstance(message, Report):
            self._report(assignment, message, now_ms)
        elif not assignment.done:
            self._done(assignment, message, now_ms)

    def ended(self, done: Done) -> None:
        """A job has ended after the decision. After the last one, the total of searched nodes is logged."""
        assignment = self.search.assignments.get(done.node_id)
        if (
            assignment is not None
            and assignment.done_late(done)
            and not any(other.ended for other in self.search.assignments.values())
        ):
            nodes = sum(other.nodes for other in self.search.assignments.values())
            self._dispatch.log("searched", search_id=self.search.request.search_id, nodes=nodes)

    def heartbeat(self, beat: Heartbeat, now_ms: int) -> None:
        """Compare the job that the node reports with its actual job: messages can be lost when a connection is
        re-established."""
        assignment = self._assignment_of(beat.node_id)
        if assignment is None or assignment.job is None or not assignment.busy:
            stop_the_idle(beat, self._dispatch)
            return
        if now_ms - assignment.sent_ms < self.search.settings.resend_ms:
            return
        if beat.job_id < assignment.job.job_id:
            assignment.sent_ms = now_ms
            self._dispatch.log("job_resent", node=assignment.node_id, job=assignment.leaf.label)
            self._dispatch.out.append(SendJob(assignment.node_id, assignment.job))
        elif beat.idle:
            self._over(assignment, now_ms)

    def _report(self, assignment: Assignment, report: Report, now_ms: int) -> None:
        """Pass a line of the node's current job to its group; `advance` handles the consequences."""
        search, leaf = self.search, assignment.leaf
        line = line_from_root(leaf, report.depth, report.score, report.bound, report.pv)
        legal = search.root.legal_part(line.pv)
        if not leaf.holds(legal):
            self._refuse(assignment, line, now_ms)
            return
        if len(legal) < len(line.pv):
            self._dispatch.log("pv_cut", node=assignment.node_id, at=len(legal), move=line.pv[len(legal)])
            line = replace(line, pv=legal)
        assignment.job_nodes = max(assignment.job_nodes, report.nodes)
        assignment.job_ms = max(assignment.job_ms, report.time_ms)
        assignment.seldepth, assignment.hashfull = report.seldepth, report.hashfull
        if assignment.node_id == FALLBACK:
            if report.multipv == 1:
                assignment.note_exact(line)
                search.fallback_line = line
            search.dirty = True
            return
        assignment.note_exact(line)
        group = search.group_of(assignment)
        group.take_line(assignment, line, report.multipv)
        if search.request.multipv > 1:
            assignment.keep_line(line, report.multipv)
        search.changed(line)
        if isinstance(group, SplitGroup):
            self._split.reconsider(group, now_ms)

    def _refuse(self, assignment: Assignment, line: TreeLine, now_ms: int) -> None:
        """Refuse an illegal report. A node that sends several of them gets no more jobs in this search."""
        leaf = assignment.leaf
        shown = " ".join(line.pv[len(leaf.path) : len(leaf.path) + 3])
        why = "not a legal move of the job"
        self._dispatch.log("report_refused", node=assignment.node_id, job=leaf.label, pv=shown, why=why)
        assignment.refused += 1
        if assignment.refused >= self.search.settings.refusals:
            self._dispatch.take_away(assignment, now_ms)
            self._failed(assignment, "its reports are not legal", now_ms)

    def _done(self, assignment: Assignment, done: Done, now_ms: int) -> None:
        assignment.job_nodes = max(assignment.job_nodes, done.nodes)
        assignment.job_ms = max(assignment.job_ms, done.time_ms)
        self.search.dirty = True
        if done.error:
            assignment.done = True
            self._failed(assignment, done.error, now_ms)
        else:
            self._over(assignment, now_ms)

    def _over(self, assignment: Assignment, now_ms: int) -> None:
        """A job has ended. If only time ends the search and others continue, its node can do more."""
        search = self.search
        assignment.done = True
        if assignment.node_id == FALLBACK:
            self._mind_fallback(now_ms)
        elif search.request.nodes is None and search.request.depth is None and search.busy():
            group = search.group_of(assignment)
            if isinstance(group, SplitGroup):
                group.job_ended(assignment)
                self._split.reconsider(group, now_ms)

    # --- due events -----------------------------------------------------------------------------------------------

    def advance(self, now_ms: int) -> None:
        """Do everything that is due because of the time or the last event."""
        search = self.search
        if self._time_is_up(now_ms):
            self.decide(now_ms)
            return
        stopped = search.state is SearchState.STOPPING
        if search.fallback_ms is not None and (now_ms >= search.fallback_ms or stopped):
            self._begin_fallback(now_ms)
        if search.presearching and not stopped:
            for group in tuple(search.presearching):
                self._split.end_presearch(group, now_ms)
        if self._nothing_to_gain():
            self.decide(now_ms)

    def _time_is_up(self, now_ms: int) -> bool:
        """Whether the search ends now. At the soft time it also needs an answer: the nodes', or after a while the
        fallback's."""
        search = self.search
        if search.hard_ms is not None and now_ms >= search.hard_ms:
            return True
        if search.soft_ms is None or now_ms < search.soft_ms:
            return False
        if search.nodes_answer() is not None or (search.state is SearchState.STOPPING and self._nothing_runs()):
            return True
        grace_over = now_ms >= search.soft_ms + search.settings.answer_grace_ms or not search.busy()
        return search.fallback_line is not None and grace_over

    def _nothing_to_gain(self) -> bool:
        """Whether further waiting is useless: a mate is proven, or all jobs are over."""
        search = self.search
        if search.infinite:
            return False
        if search.busy():
            return search.mate_proven and self._is_won()
        if search.soft_ms is not None and not any(assignment.alive for assignment in search.assignments.values()):
            return False  # a node may return before the soft time
        return search.nodes_answer() is not None or self._nothing_runs()

    def _is_won(self) -> bool:
        """Whether the nodes' answer is a proven mate, and nothing else is requested. Only a line with a proven mate can
        cause that."""
        search = self.search
        if not search.mate_proven or search.request.multipv > 1:
            return False
        search.mate_proven = False
        found = search.nodes_answer()
        return found is not None and found.lines[0].score > 0 and proves_mate(found.lines[0])

    def _nothing_runs(self) -> bool:
        search = self.search
        return not search.busy() and (search.fallback is None or search.fallback.done)

    def wake_ms(self, now_ms: int) -> int | None:
        """The time at which something is due, later than ``now_ms``; None: never."""
        search, settings = self.search, self.search.settings
        times = [search.soft_ms, search.hard_ms, search.fallback_ms]
        if search.soft_ms is not None:
            times.append(search.soft_ms + settings.answer_grace_ms)
        if not search.pondering:
            times.append(self._publish_ms)
        times += [group.presearch_until_ms for group in search.presearching]
        return min((time for time in times if time is not None and time > now_ms), default=None)

    def _mind_fallback(self, now_ms: int) -> None:
        """Change the fallback's job if nodes that joined or left change its terms. A resting fallback continues if it
        may search more; one that has not begun begins if it has no node to wait for."""
        assignment = self.search.fallback
        if assignment is None:
            return
        job, terms = assignment.job, fallback_terms(self.search)
        if job is None:
            changed = not terms.waits
        elif assignment.busy:
            changed = (job.background, job.nodes) != (terms.background, terms.nodes)
        else:
            changed = job.nodes is not None and (terms.nodes is None or terms.nodes > job.nodes)
        if changed:
            self._give_fallback(assignment, now_ms)

    def _begin_fallback(self, now_ms: int) -> None:
        """The nodes have had their time for a first line; if there is none, the fallback searches too."""
        search = self.search
        search.fallback_ms = None
        if search.fallback is not None and search.nodes_answer() is None:
            self._give_fallback(search.fallback, now_ms)

    def _give_fallback(self, assignment: Assignment, now_ms: int) -> None:
        self.search.fallback_ms = None
        self._dispatch.give_fallback(self.search, assignment, now_ms)

    # --- the end --------------------------------------------------------------------------------------------------

    def decide(self, now_ms: int) -> None:
        """End the search with the results so far."""
        decision = decision_of(self.search, now_ms)
        self.search.to(SearchState.OVER, now_ms)
        say_decision(decision, self._dispatch)
        self._take_all_away(now_ms)

    def _take_all_away(self, now_ms: int) -> None:
        search = self.search
        for assignment in search.assignments.values():
            search.roster.measured(assignment.node_id, assignment.job_nodes, assignment.job_ms)
        for assignment in (*search.assignments.values(), *((search.fallback,) if search.fallback else ())):
            self._dispatch.take_away(assignment, now_ms)

    def publish(self, now_ms: int) -> None:
        """Report the search; from time to time even without changes, because the receiver also decides about time."""
        search = self.search
        if (due := self._publish_ms) is not None and now_ms >= due:
            search.dirty = False
            search.published_ms = now_ms
            self._dispatch.out.append(progress_of(search, now_ms))

    @property
    def _publish_ms(self) -> int | None:
        """The time at which to report; None: not before something changes."""
        search = self.search
        if search.dirty:
            return search.published_ms + search.settings.progress_ms
        goes_on = search.soft_ms is not None and search.published_ms >= search.started_ms
        return search.published_ms + _REFRESH_MS if goes_on else None


def stop_the_idle(beat: Heartbeat, dispatch: Dispatch) -> None:
    """Stop a node that searches without having a job: it has missed a stop."""
    if not beat.idle:
        dispatch.out.append(StopNode(beat.node_id, beat.job_id))
