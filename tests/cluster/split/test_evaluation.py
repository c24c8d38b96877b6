"""A tree's evaluation looks at each position once, however much is asked of it."""

from __future__ import annotations

import pytest

from cluster.split.evaluation import TreeEvaluation, Value, windows
from cluster.split.redeal import contention, reason
from cluster.split.tree import Leaf, Split, TakeoverMargin, Tree, TreeLine
from worker.engine import Bound

MARGIN = TakeoverMargin(margin=10, shallow=0, per_ply=20)
A_R_X, A_R_REST = Leaf(("a", "r"), ("x",)), Leaf(("a", "r"), ignore=("x",))
A_R, A_REST = Split(("a", "r"), (A_R_X, A_R_REST)), Leaf(("a",), ignore=("r",))
A, OTHERS = Split(("a",), (A_R, A_REST)), Leaf(ignore=("a",))
TREE = Split((), (A, OTHERS))
KNOWN = {
    A_R_X: TreeLine(10, 50, Bound.EXACT, ("a", "r", "x")),
    A_R_REST: TreeLine(10, 40, Bound.UPPER, ("a", "r", "y")),
    A_REST: TreeLine(10, 60, Bound.LOWER, ("a", "s")),
    OTHERS: TreeLine(10, 20, Bound.UPPER, ("b",)),
}


def test_each_position_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Tree] = []
    value = TreeEvaluation._value

    def counted(self: TreeEvaluation, tree: Tree) -> Value | None:
        looked.append(tree)
        return value(self, tree)

    monkeypatch.setattr(TreeEvaluation, "_value", counted)
    evaluation = TreeEvaluation(TREE, KNOWN, MARGIN)
    best = evaluation.best(None)
    assert best == KNOWN[A_R_X]
    assert reason(evaluation, frozenset("a"), best) is None
    assert contention(evaluation) == {"a"}
    assert set(windows(evaluation)) == set(KNOWN)
    below = [A, A_R, A_R_X, A_R_REST, A_REST, OTHERS]
    assert [looked.count(tree) for tree in below] == [1] * len(below)
    assert evaluation.survey() == {(): best, ("a",): best, ("a", "r"): best}


def test_where_nothing_is_proven_a_move_is_worth_at_most_its_value() -> None:
    """Its refutation may be among what is unknown: it may not be taken for at least as good."""
    evaluation = TreeEvaluation(
        TREE, {A_R_X: TreeLine(10, 50, Bound.UPPER, ("a", "r", "x")), OTHERS: KNOWN[OTHERS]}, MARGIN
    )
    assert evaluation.survey()["a",] == TreeLine(10, 50, Bound.UPPER, ("a", "r", "x"))
    (a, _) = evaluation.values(TREE)
    assert a is not None
    assert a.line == evaluation.survey()["a",]


def test_another_standing_knows_what_has_changed() -> None:
    before = TreeEvaluation(TREE, KNOWN, MARGIN)
    assert before.line == KNOWN[A_R_X]
    better = TreeLine(10, 90, Bound.EXACT, ("b",))
    assert TreeEvaluation(TREE, KNOWN | {OTHERS: better}, MARGIN).line == better
    assert before.line == KNOWN[A_R_X]
