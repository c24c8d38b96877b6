"""Runs the playoff of a search (`cluster.coordination.playoff`): when it begins, and which node searches which move."""

from __future__ import annotations

from cluster.coordination.group import Assignment
from cluster.coordination.jobs import Dispatch
from cluster.coordination.playoff import Playoff, begins_ms, is_wanted, nominees
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import SearchState
from cluster.split.tree import TreeLine


class PlayoffRun:
    """The playoff of one search."""

    def __init__(self, search: Search, dispatch: Dispatch) -> None:
        self._search = search
        self._dispatch = dispatch

    @property
    def begins_ms(self) -> int | None:
        """The time at which to check how far the voters agree; None: no playoff will follow."""
        search = self._search
        settings = search.settings.playoff
        if not settings.share or search.playoff is not None or search.soft_ms is None or search.request.multipv > 1:
            return None
        return begins_ms(settings, search.started_ms, search.soft_ms)

    def consider(self, now_ms: int) -> None:
        """Begin if it is time and no move is far ahead."""
        search, settings = self._search, self._search.settings.playoff
        if self.begins_ms is None or search.soft_ms is None or search.state is not SearchState.RUNNING:
            return
        if not is_wanted(settings, search.started_ms, search.soft_ms, now_ms):
            return
        answer = search.nodes_answer()
        if answer is None or any(isinstance(group, SplitGroup) for group in search.groups):
            return
        found = nominees(answer.ballots, answer.move, settings)
        if len(found) < 2 or len(search.sharers()) < 2:
            return
        search.playoff = Playoff(found[: len(search.sharers())])
        self._dispatch.log(
            "playoff",
            search_id=search.request.search_id,
            votes={one.move: one.votes for one in search.playoff.nominees},
            at_ms=now_ms - search.started_ms,
        )
        self.deal(now_ms)

    def deal(self, now_ms: int) -> None:
        """If a playoff runs, deal the nominees over the current nodes: a node has left or joined."""
        search, playoff = self._search, self._search.playoff
        if playoff is None:
            return
        nodes = {assignment.node_id: assignment for assignment in search.sharers()}
        if not nodes:
            return
        now_at = {node_id: self._searches(assignment) for node_id, assignment in nodes.items()}
        for node_id, one in playoff.deal(now_at).items():
            if now_at[node_id] != one.move:
                assignment = nodes[node_id]
                self._dispatch.give(search, search.group_of(assignment), assignment, one.leaf, now_ms)

    def tell(self) -> None:
        """Log the result, if there was a playoff."""
        playoff = self._search.playoff
        if playoff is not None:
            scores = {move: round(mean) for move, (mean, _) in playoff.scores().items()}
            self._dispatch.log("played_off", search_id=self._search.request.search_id, scores=scores)

    def takes(self, assignment: Assignment, line: TreeLine) -> bool:
        """Take a line if it comes from a job of the playoff; else return False."""
        playoff = self._search.playoff
        if playoff is None or self._searches(assignment) is None:
            return False
        assignment.line, assignment.job_counts = line, True
        playoff.take_line(assignment.node_id, line)
        return True

    @staticmethod
    def _searches(assignment: Assignment) -> str | None:
        """The nominee that a node searches."""
        return assignment.leaf.moves[0] if assignment.job is not None and assignment.leaf.moves else None
