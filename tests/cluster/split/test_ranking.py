"""The presearch's ranking."""

from __future__ import annotations

from cluster.split.dealing import Presearch
from cluster.split.tree import TreeLine
from worker.engine import Bound


def line(move: str, depth: int) -> TreeLine:
    return TreeLine(depth, 0, Bound.EXACT, (move,))


def test_the_deepest_complete_depth_counts() -> None:
    presearch = Presearch(2)
    assert presearch.lines() == ()
    presearch.add("n1", 1, line("a", 5))
    presearch.add("n1", 2, line("b", 5))
    presearch.add("n1", 1, line("c", 6))
    presearch.add("n2", 1, line("d", 4))
    presearch.add("n2", 2, line("e", 4))
    assert [found.pv[0] for found in presearch.lines()] == ["a", "b"]
    presearch.add("n1", 2, line("a", 6))
    assert [found.pv[0] for found in presearch.lines()] == ["c", "a"]


def test_incomplete_depths_are_better_than_nothing() -> None:
    presearch = Presearch(3)
    presearch.add("n1", 1, line("a", 1))
    presearch.add("n1", 7, line("x", 1))
    assert [found.pv[0] for found in presearch.lines()] == ["a"]
