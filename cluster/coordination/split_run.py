"""Runs the groups that split the root: presearch, ranking, dealing, and dealing again.

`cluster.coordination.search_run` uses it for such groups only, not for groups that vote.
"""

from __future__ import annotations

from cluster.coordination.group import WHOLE_ROOT
from cluster.coordination.jobs import Dispatch
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import Phase, SearchState
from cluster.split.dealing import Presearch


class SplitRun:
    """The splits of one search."""

    def __init__(self, search: Search, dispatch: Dispatch) -> None:
        self._search = search
        self._dispatch = dispatch

    def begin(self, group: SplitGroup, now_ms: int) -> None:
        """Begin the presearch, which ranks the moves."""
        search, settings = self._search, self._search.settings
        group.enter(Phase.PRESEARCH)
        search.presearching.append(group)
        least = len(group.root_searchers)
        group.choose_root_searchers(search.usable(group), settings.root_share, search.roster.speeds, least)
        multipv = min(len(search.usable(group)) - 1, len(search.root.legal), settings.presearch_multipv)
        group.presearch = Presearch(multipv)
        if search.soft_ms is not None:
            length = int((search.soft_ms - now_ms) * settings.presearch_share)
            group.presearch_until_ms = now_ms + min(max(length, settings.presearch_min_ms), settings.presearch_max_ms)
        elif search.infinite:
            group.presearch_until_ms = now_ms + settings.presearch_max_ms

    def end_presearch(self, group: SplitGroup, now_ms: int) -> None:
        """Begin the split if the presearch is over. If it found nothing, the group consults instead."""
        idle = not group.presearch_runs
        if not idle and (group.presearch_until_ms is None or now_ms < group.presearch_until_ms):
            return
        found = group.ranked()
        if found:
            self._search.presearching.remove(group)
            group.begin_split(found)
            for assignment in group.assignments:
                searches_root = assignment in group.root_searchers
                assignment.job_counts = searches_root or assignment.node_id == group.presearch.node_id
                if not searches_root:
                    self._dispatch.take_away(assignment, now_ms)
            self.deal(group, now_ms, "presearch")
        elif idle:
            self._scatter(group, now_ms)

    def withdrawn(self, group: SplitGroup, now_ms: int, why: str) -> None:
        """A node of the group can no longer be used: its work goes to the remaining nodes."""
        if group.phase is Phase.SPLIT:
            self.deal(group, now_ms, why)
        elif len(self._search.usable(group)) < 2:
            self._scatter(group, now_ms)

    def reconsider(self, group: SplitGroup, now_ms: int) -> None:
        """Deal again if new reports give a reason, and it is neither too late nor too soon."""
        if group.phase is Phase.SPLIT and self._may_redeal(group, now_ms):
            why = group.why_redeal(self._search.settings)
            if why is not None:
                self.deal(group, now_ms, why)

    def deal(self, group: SplitGroup, now_ms: int, why: str) -> None:
        """Deal the group's moves. With no node left, its tree and lines stay unchanged."""
        search = self._search
        nodes = search.usable(group)
        if not nodes:
            return
        given, taken = group.deal(nodes, search.root.replies, search.settings, search.roster.speeds)
        group.dealt_ms = now_ms
        search.changed(*group.leaf_lines.values())
        for assignment, leaf in given:
            self._dispatch.give(search, group, assignment, leaf, now_ms)
        for assignment in taken:
            self._dispatch.take_away(assignment, now_ms)
        self._dispatch.log(
            "dealt",
            search_id=search.request.search_id,
            group=group.name,
            why=why,
            leaves={assignment.node_id: assignment.leaf.label for assignment in nodes if assignment.job is not None},
            new=len(given),
            at_ms=now_ms - search.started_ms,
        )

    def _scatter(self, group: SplitGroup, now_ms: int) -> None:
        """Consult instead: each node searches the whole root."""
        search = self._search
        search.scatter(group)
        for assignment in group.assignments:
            goes_on = assignment in group.root_searchers and assignment.busy
            if assignment.can_take_job(search.request.nodes) and not goes_on:
                self._dispatch.give(search, search.group_of(assignment), assignment, WHOLE_ROOT, now_ms)

    def _may_redeal(self, group: SplitGroup, now_ms: int) -> bool:
        """Whether `RedealLimits` allow ``group`` to deal its tree again now because of its nodes' results."""
        search, limits = self._search, self._search.settings.redeal
        if search.request.nodes is not None:
            rested, spent, budget = group.furthest - group.dealt_furthest, group.furthest, search.request.nodes
        else:
            rested, spent = now_ms - group.dealt_ms, now_ms - search.started_ms
            if search.soft_ms is None:
                return rested >= max(limits.rest_ms, limits.rest * spent)
            budget = search.soft_ms - search.started_ms
        stopped = search.state is SearchState.STOPPING
        return not stopped and rested >= limits.rest * budget and spent <= limits.last * budget
