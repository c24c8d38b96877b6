"""What must hold in a running search after every event (`Settings.validate`); a breach is a fault of ours."""

from __future__ import annotations

from collections.abc import Collection

from cluster.search_state import Phase, Search
from cluster.split import leaves


def check(search: Search, live: Collection[str]) -> None:
    """Raises AssertionError with the first invariant that does not hold. ``live``: the nodes that can search now."""
    root = search.root
    for work in search.works.values():
        assert work.alive == (work.node_id in live), f"{work.node_id}: alive is {work.alive}"
        assert work.job is None or (work.alive and not work.failed), f"{work.node_id} cannot have a job"
        assert work.line is None or root.legal_part(work.line.pv) == work.line.pv, f"{work.node_id}: PV is not legal"
    if search.phase is Phase.SPLIT:
        held = [work.leaf for work in search.works.values() if work.job is not None]
        assert len(held) == len(set(held)), f"a leaf is searched twice: {[leaf.label for leaf in held]}"
        dealt = list(leaves(search.tree))
        assert set(held) <= set(dealt), f"searched, but not in the tree: {[leaf.label for leaf in held]}"
        for move in root.legal:
            assert sum(leaf.holds((move,)) for leaf in dealt) == 1, f"{move} is not in exactly one leaf"
        for leaf, line in search.lines.items():
            assert leaf in dealt, f"{leaf.label} is known, but not in the tree"
            assert leaf.holds(line.pv), f"{leaf.label}: foreign line"
            assert root.legal_part(line.pv) == line.pv, f"{leaf.label}: PV is not legal"
