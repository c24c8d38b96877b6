"""A tree's evaluation visits each position once, however many questions it gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.split.evaluation import TreeEvaluation, Value, Window, windows
from cluster.split.redeal import contention, reason
from cluster.split.tree import Leaf, Split, TakeoverMargin, Tree, TreeLine, leaves
from tests.cluster.split.trees import line, negamax, trees
from worker.engine import Bound
from worker.score import mate_in, mated_in

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


def test_without_a_proof_a_move_is_worth_at_most_its_value() -> None:
    """Its refutation may be among the unknown leaves: it may not count as equally good."""
    evaluation = TreeEvaluation(
        TREE, {A_R_X: TreeLine(10, 50, Bound.UPPER, ("a", "r", "x")), OTHERS: KNOWN[OTHERS]}, MARGIN
    )
    assert evaluation.survey()["a",] == TreeLine(10, 50, Bound.UPPER, ("a", "r", "x"))
    (a, _) = evaluation.values(TREE)
    assert a is not None
    assert a.line == evaluation.survey()["a",]


BEST, SECOND, REST = Leaf(moves=("a",)), Leaf(moves=("b",)), Leaf(ignore=("a", "b"))
THREE = Split((), (BEST, SECOND, REST))


def test_others_are_tested_against_the_best() -> None:
    known = {BEST: line(50, "a"), SECOND: line(40, "b")}
    assert windows(TreeEvaluation(THREE, known, MARGIN)) == {BEST: Window(), SECOND: Window(40), REST: Window(40)}


def test_a_move_that_took_over_is_not_tested() -> None:
    known = {BEST: line(50, "a"), SECOND: line(60, "b")}
    assert windows(TreeEvaluation(THREE, known, MARGIN)) == {BEST: Window(50), SECOND: Window(), REST: Window(50)}


def test_nothing_known_nothing_bounded() -> None:
    assert set(windows(TreeEvaluation(THREE, {}, MARGIN)).values()) == {Window()}
    known = {BEST: line(50, "a", bound=Bound.UPPER)}
    assert windows(TreeEvaluation(THREE, known, MARGIN))[REST] == Window()


def test_mates_bound_nothing() -> None:
    assert windows(TreeEvaluation(THREE, {BEST: line(mated_in(8), "a")}, MARGIN))[REST] == Window()
    assert windows(TreeEvaluation(THREE, {BEST: line(mate_in(9), "a")}, MARGIN))[REST] == Window()


def test_down_the_tree() -> None:
    """a, with the replies r and others, is worth 50 by r; b, with the same replies, at most 20 by r."""
    a_r, a_rest = Leaf(("a",), ("r",)), Leaf(("a",), ignore=("r",))
    b_r, b_rest = Leaf(("b",), ("r",)), Leaf(("b",), ignore=("r",))
    tree = Split((), (Split(("a",), (a_r, a_rest)), Split(("b",), (b_r, b_rest)), REST))
    known = {a_r: line(50, "a", "r"), a_rest: line(70, "a", "s"), b_r: line(60, "b", "r")}
    found = windows(TreeEvaluation(tree, known, MARGIN))
    assert found[REST] == Window(40)
    # The opponent's question: does a reply leave less than 50, from here more than -50?
    assert found[a_r] == Window()
    assert found[a_rest] == Window(-60)
    # After b every reply that leaves 40 or less is enough, which from here is -40 or more.
    assert found[b_r] == Window(None, -40)
    assert found[b_rest] == Window(-70, -40)
    known[b_r] = line(20, "b", "r")
    assert windows(TreeEvaluation(tree, known, MARGIN))[b_rest] == Window(-30, -29)


@given(st.data())
def test_scores_outside_the_windows_decide_nothing(data: st.DataObject) -> None:
    """The tree has the same move's score for any end of the leaves' searches, with scores outside of their windows
    replaced by the window's edge, as bounds."""
    tree = data.draw(trees())
    plain = TakeoverMargin(0, 0, 0)
    before = {
        leaf: TreeLine(10, data.draw(st.integers(-200, 200)), Bound.EXACT, (*leaf.path, (leaf.moves or ("z",))[0]))
        for leaf in leaves(tree)
        if data.draw(st.booleans())
    }
    found = windows(TreeEvaluation(tree, before, plain))
    assert found.keys() == set(leaves(tree))
    known: dict[Leaf, TreeLine] = {}
    true: dict[Leaf, TreeLine] = {}
    for leaf, window in found.items():
        pv = (*leaf.path, (leaf.moves or ("z",))[0])
        if leaf in before:
            # The bounds of the others have not changed.
            score = before[leaf].score
            known[leaf] = true[leaf] = TreeLine(20, score, Bound.EXACT, pv)
            continue
        score = data.draw(st.integers(-200, 200))
        true[leaf] = TreeLine(20, score, Bound.EXACT, pv)
        sign = -1 if len(leaf.path) % 2 else 1
        own, bound = sign * score, Bound.EXACT
        if window.alpha is not None and own <= window.alpha:
            own, bound = window.alpha, Bound.UPPER
        elif window.beta is not None and own >= window.beta:
            own, bound = window.beta, Bound.LOWER
        if sign < 0 and bound is not Bound.EXACT:
            bound = Bound.UPPER if bound is Bound.LOWER else Bound.LOWER
        known[leaf] = TreeLine(20, sign * own, bound, pv)
    merged = TreeEvaluation(tree, known, plain).line
    assert merged is not None
    if merged.bound is Bound.EXACT:
        assert merged.score == negamax(tree, true)
