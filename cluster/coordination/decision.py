"""The output of a search: its progress and its decision."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cluster.api import Answer, Decision, NodeView, Progress
from cluster.coordination.jobs import Dispatch
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import Phase
from cluster.split.tree import TreeLine, tells_score


def progress_of(search: Search, now_ms: int) -> Progress:
    """The progress of a search: the move that would be played now."""
    searched = searched_by(search, now_ms)
    return Progress.of(
        search.answer() or Answer(),
        search_id=search.request.search_id,
        elapsed_ms=now_ms - search.started_ms,
        nodes=sum(searched.values()),
        fleet=_views(search, searched),
    )


def decision_of(search: Search, now_ms: int) -> Decision:
    """The decision of a search. If neither nodes nor fallback have a line, it is still a move: the best by material."""
    answer = _exactly(search, search.answer() or Answer(move=search.root.careful(), source="none"))
    searched = searched_by(search, now_ms)
    return Decision.of(
        answer,
        search_id=search.request.search_id,
        elapsed_ms=now_ms - search.started_ms,
        nodes=sum(searched.values()),
        fleet=_views(search, searched),
        wasted=_wasted(search, [ballot.voter for ballot in answer.ballots], searched),
        pondered_ms=search.pondered_ms,
    )


def say_decision(decision: Decision, dispatch: Dispatch) -> None:
    """Send out ``decision``, and log it."""
    dispatch.out.append(decision)
    dispatch.log(
        "decided",
        search_id=decision.search_id,
        move=decision.move,
        source=decision.source,
        score=decision.score,
        depth=decision.depth,
        nodes=decision.nodes,
        wasted=decision.wasted,
        elapsed_ms=decision.elapsed_ms,
        agreement=round(decision.agreement, 3),
    )


def searched_by(search: Search, now_ms: int) -> dict[str, int]:
    """Nodes searched until now, by node id, as computed by `Assignment.searched`."""
    nps_of = search.roster.nps_of
    return {node_id: assignment.searched(now_ms, nps_of(node_id)) for node_id, assignment in search.assignments.items()}


def _views(search: Search, searched: dict[str, int]) -> tuple[NodeView, ...]:
    speeds = search.roster.speeds
    return tuple(
        assignment.view(speeds.get(node_id, 1.0), searched[node_id])
        for node_id, assignment in search.assignments.items()
    )


def _exactly(search: Search, answer: Answer) -> Answer:
    """``answer`` with exact lines in place of mere bounds, if any node has reported one for the move: the voters' own
    first, then the deepest. A proven mate is kept."""
    voters = {ballot.voter for ballot in answer.ballots if ballot.move == answer.move}
    nodes = [*search.assignments.values(), *([search.fallback] if search.fallback is not None else ())]

    def exact(line: TreeLine) -> TreeLine:
        if tells_score(line):
            return line
        found = [(node.node_id in voters, node.exact[line.pv[0]]) for node in nodes if line.pv[0] in node.exact]
        return max(found, key=lambda one: (one[0], one[1].depth), default=(False, line))[1]

    lines = tuple(exact(line) for line in answer.lines)
    return answer if lines == answer.lines else replace(answer, lines=lines)


def _wasted(search: Search, counted: Collection[str], searched: dict[str, int]) -> int:
    """Nodes searched for nothing, as defined in `Decision.wasted`. ``counted``: the voters whose ballots counted."""
    total = 0
    for group in search.groups:
        splits = isinstance(group, SplitGroup) and group.phase is Phase.SPLIT
        for assignment in group.assignments:
            counts = group.name in counted and assignment.job_counts if splits else assignment.node_id in counted
            running = searched[assignment.node_id] - assignment.spent
            total += assignment.wasted + (0 if counts else running)
    return total
