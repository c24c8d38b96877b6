"""Invariants of a coordinator, checked after every event."""

from __future__ import annotations

from collections.abc import Collection

from cluster.coordination.coordinator import Coordinator
from cluster.coordination.group import WHOLE_ROOT, Group
from cluster.coordination.root import Root
from cluster.coordination.search_state import Search
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import Phase
from cluster.split.evaluation import TreeEvaluation
from cluster.split.tree import leaves
from tests.cluster.split.trees import check_tree


def check(coordinator: Coordinator) -> None:
    """Raises AssertionError at the first broken invariant."""
    run, pondering = coordinator.run, coordinator.ponders
    assert coordinator.searching == (run is not None), f"{coordinator.state.name} is not what runs"
    assert coordinator.pondering == (pondering is not None), f"{coordinator.state.name} is not what runs"
    if run is not None:
        assert pondering is None, "a search and pondering at the same time"
        _check_search(run.search, coordinator.roster)
    elif pondering is not None:
        searches = [run.search for run in pondering.active()]
        for search in searches:
            _check_search(search, coordinator.roster)
        nodes = [node_id for search in searches for node_id in search.assignments]
        assert len(nodes) == len(set(nodes)), f"a node ponders twice: {nodes}"


def _check_search(search: Search, live: Collection[str]) -> None:
    """Raises AssertionError at the first broken invariant. ``live``: the nodes that can search now."""
    root = search.root
    for assignment in search.assignments.values():
        assert assignment.alive == (assignment.node_id in live), f"{assignment.node_id}: alive is {assignment.alive}"
        assert assignment.job is None or (assignment.alive and not assignment.failed), (
            f"{assignment.node_id} cannot have a job"
        )
        for line in (*([assignment.line] if assignment.line else ()), *assignment.lines.values()):
            assert root.legal_part(line.pv) == line.pv, f"{assignment.node_id}: PV is not legal"
        groups = [group for group in search.groups if assignment in group.assignments]
        assert groups == [search.group_of(assignment)], f"{assignment.node_id} is in {len(groups)} groups"
    assert sum(len(group.assignments) for group in search.groups) == len(search.assignments), "unknown node in a group"
    presearching = [group for group in search.groups if group.phase is Phase.PRESEARCH]
    assert set(search.presearching) == set(presearching), "wrong count of groups in presearch"
    names = [group.name for group in search.groups]
    assert len(names) == len(set(names)), f"two groups have one name: {names}"
    assert search.busy() == any(assignment.busy for assignment in search.assignments.values()), (
        "wrong count of busy nodes"
    )
    _check_fallback(search)
    for group in search.groups:
        _check_group(group, root)
        if isinstance(group, SplitGroup) and group.phase is Phase.SPLIT:
            merged = TreeEvaluation(group.tree, group.leaf_lines, search.settings.takeover).best(group.root_result)
            assert group.merged(search.settings.takeover) == merged, f"{group.name}: its answer is out of date"


def _check_fallback(search: Search) -> None:
    fallback = search.fallback
    if fallback is None:
        return
    if fallback.job is None:
        assert search.fallback_ms is not None or search.nodes_answer() is not None, "the fallback waits for ever"
        return
    if not fallback.busy:
        return
    limit = search.settings.fallback_nodes
    for assignment in search.usable():
        if assignment.busy and search.roster.facts(assignment.node_id).beside_master:
            assert fallback.job.nodes is not None, f"the fallback takes CPU from {assignment.node_id}"
            assert fallback.job.nodes <= limit, f"the fallback takes CPU from {assignment.node_id}"


def _check_group(group: Group, root: Root) -> None:
    root_searchers = group.root_searchers if isinstance(group, SplitGroup) else {}
    held = [
        assignment.leaf
        for assignment in group.assignments
        if assignment.job is not None and assignment not in root_searchers
    ]
    if not isinstance(group, SplitGroup) or group.phase is not Phase.SPLIT:
        assert group.phase is Phase.PRESEARCH or len(group.assignments) == 1, (
            f"{group.name}: nobody shares out the root"
        )
        assert all(leaf == WHOLE_ROOT for leaf in held), f"{group.name}: a leaf without a tree"
        return
    assert len(held) == len(set(held)), f"{group.name}: a leaf is searched twice: {[leaf.label for leaf in held]}"
    dealt = list(leaves(group.tree))
    assert set(held) <= set(dealt), f"{group.name}: searched, but not in the tree: {[leaf.label for leaf in held]}"
    check_tree(group.tree, root.replies)
    for leaf, line in group.leaf_lines.items():
        assert leaf in dealt, f"{group.name}: {leaf.label} is known, but not in the tree"
        assert leaf.holds(line.pv), f"{group.name}: {leaf.label}: foreign line"
        assert root.legal_part(line.pv) == line.pv, f"{group.name}: {leaf.label}: PV is not legal"
