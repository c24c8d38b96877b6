"""The split tree: dealing, merging, inheriting."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cluster.split.evaluation import TreeEvaluation
from cluster.split.tree import (
    Leaf,
    Split,
    TakeoverMargin,
    TreeLine,
    best_first,
    inherit,
    leaves,
    line_from_root,
    replaces,
    takes_over,
)
from tests.cluster.split.trees import line, negamax, trees
from worker.engine import Bound
from worker.score import MATE, mate_in, mated_in

MARGIN = TakeoverMargin(margin=10, shallow=0, per_ply=20)
BEST, OTHERS = Leaf(moves=("7g7f",)), Leaf(ignore=("7g7f",))
TWO = Split((), (BEST, OTHERS))


SCORES = st.one_of(st.integers(-500, 500), st.integers(1, 40).map(mate_in), st.integers(0, 40).map(mated_in))


class TestTakesOver:
    def test_at_equal_depth_the_margin_decides(self) -> None:
        best = line(30, "7g7f")
        assert not takes_over(line(39, "2g2f"), best, MARGIN)
        assert takes_over(line(40, "2g2f"), best, MARGIN)

    def test_a_shallow_challenger_needs_more(self) -> None:
        best = line(30, "7g7f", depth=14)
        assert not takes_over(line(119, "2g2f", depth=10), best, MARGIN)
        assert takes_over(line(120, "2g2f", depth=10), best, MARGIN)

    def test_a_deeper_challenger_needs_no_less(self) -> None:
        assert not takes_over(line(35, "2g2f", depth=20), line(30, "7g7f", depth=10), MARGIN)

    def test_an_upper_bound_never_does(self) -> None:
        assert not takes_over(line(500, "2g2f", bound=Bound.UPPER), line(30, "7g7f"), MARGIN)
        assert takes_over(line(500, "2g2f", bound=Bound.LOWER), line(30, "7g7f"), MARGIN)

    def test_mates_need_no_margin(self) -> None:
        assert takes_over(line(mate_in(9), "2g2f", depth=1), line(2000, "7g7f", depth=30), MARGIN)
        assert takes_over(line(mate_in(7), "2g2f"), line(mate_in(9), "7g7f"), MARGIN)
        assert not takes_over(line(mate_in(9), "2g2f"), line(mate_in(9), "7g7f"), MARGIN)
        assert takes_over(line(-3000, "2g2f", depth=1), line(mated_in(8), "7g7f", depth=30), MARGIN)
        assert takes_over(line(mated_in(10), "2g2f"), line(mated_in(8), "7g7f"), MARGIN)
        assert not takes_over(line(mated_in(10), "2g2f"), line(-3000, "7g7f"), MARGIN)


class TestMerge:
    def test_a_leaf_that_is_unknown_is_passed_over(self) -> None:
        assert TreeEvaluation(TWO, {}, MARGIN).line is None
        found = TreeEvaluation(TWO, {OTHERS: line(-300, "2g2f")}, MARGIN).line
        assert found == line(-300, "2g2f", bound=Bound.LOWER)

    def test_the_first_in_the_ranking_is_the_incumbent(self) -> None:
        known = {BEST: line(30, "7g7f"), OTHERS: line(35, "2g2f")}
        assert TreeEvaluation(TWO, known, MARGIN).line == line(30, "7g7f")
        known[OTHERS] = line(45, "2g2f")
        assert TreeEvaluation(TWO, known, MARGIN).line == line(45, "2g2f")

    def test_two_plies_deep(self) -> None:
        """7g7f has the replies 3c3d and the rest; scores are from the root."""
        reply, rest = Leaf(("7g7f",), ("3c3d",)), Leaf(("7g7f",), (), ("3c3d",))
        tree = Split((), (Split(("7g7f",), (reply, rest)), Leaf(ignore=("7g7f",))))
        others = Leaf(ignore=("7g7f",))
        known = {reply: line(50, "7g7f", "3c3d"), rest: line(20, "7g7f", "8c8d"), others: line(25, "2g2f")}
        # The opponent prefers 8c8d, which is worse for us by more than the margin; the challenger's 25 is not enough.
        assert TreeEvaluation(tree, known, MARGIN).line == line(20, "7g7f", "8c8d")
        known[others] = line(31, "2g2f")
        assert TreeEvaluation(tree, known, MARGIN).line == line(31, "2g2f")

    def test_an_unknown_refutation_is_no_ground_to_prefer_a_move(self) -> None:
        """With only one reply to 2g2f known, that move's score is at most the reply's, and 7g7f stays."""
        reply, rest = Leaf(("2g2f",), ("3c3d",)), Leaf(("2g2f",), (), ("3c3d",))
        tree = Split((), (Leaf(moves=("7g7f",)), Split(("2g2f",), (reply, rest))))
        known = {Leaf(moves=("7g7f",)): line(10, "7g7f"), reply: line(400, "2g2f", "3c3d")}
        assert TreeEvaluation(tree, known, MARGIN).line == line(10, "7g7f", bound=Bound.LOWER)
        known[rest] = line(390, "2g2f", "8c8d")
        assert TreeEvaluation(tree, known, MARGIN).line == line(390, "2g2f", "8c8d")

    @given(st.data())
    def test_negamax_of_the_leaves(self, data: st.DataObject) -> None:
        """Without margins, with every leaf known at one depth: the plain negamax of any tree, mates included."""
        tree = data.draw(trees())
        lines = {
            leaf: line_from_root(leaf, 20 - len(leaf.path), data.draw(SCORES), Bound.EXACT, (leaf.moves or ("z",))[:1])
            for leaf in leaves(tree)
        }
        found = TreeEvaluation(tree, lines, TakeoverMargin(0, 0, 0)).line
        assert found is not None
        assert found.score == negamax(tree, lines)
        assert found in lines.values()
        assert found.bound is Bound.EXACT

    @given(st.data())
    def test_with_unknown_leaves_the_bound_is_true(self, data: st.DataObject) -> None:
        """For any values of the unknown leaves, an exact score is exact and a lower bound is not too high."""
        tree = data.draw(trees())
        known: dict[Leaf, TreeLine] = {}
        everything: dict[Leaf, TreeLine] = {}
        for leaf in leaves(tree):
            score = data.draw(st.integers(-500, 500))
            everything[leaf] = TreeLine(20, score, Bound.EXACT, (*leaf.path, (leaf.moves or ("z",))[0]))
            if data.draw(st.booleans()):
                known[leaf] = everything[leaf]
        found = TreeEvaluation(tree, known, TakeoverMargin(0, 0, 0)).line
        assert (found is None) == (not known)
        if found is not None and found.bound is Bound.EXACT:
            assert found.score == negamax(tree, everything)
        if found is not None and found.bound is Bound.LOWER:
            assert found.score <= negamax(tree, everything)


class TestLineFromRoot:
    def test_at_the_root_nothing_changes(self) -> None:
        assert line_from_root(Leaf(moves=("7g7f",)), 9, 40, Bound.LOWER, ["7g7f"]) == line(
            40, "7g7f", depth=9, bound=Bound.LOWER
        )

    def test_one_ply_down(self) -> None:
        leaf = Leaf(("7g7f",), (), ("3c3d",))
        found = line_from_root(leaf, 9, 40, Bound.LOWER, ["8c8d"])
        assert found == line(-40, "7g7f", "8c8d", depth=10, bound=Bound.UPPER)

    def test_a_mate_is_one_ply_further_away(self) -> None:
        leaf = Leaf(("7g7f",))
        assert line_from_root(leaf, 9, mate_in(5), Bound.EXACT, ["8c8d"]).score == mated_in(6)
        assert line_from_root(leaf, 9, mated_in(4), Bound.EXACT, ["8c8d"]).score == mate_in(5)
        assert line_from_root(Leaf(("7g7f", "3c3d")), 9, mate_in(5), Bound.EXACT, ["8h2b+"]).score == mate_in(7)
        assert line_from_root(leaf, 1, -MATE, Bound.EXACT, ["8c8d"]).score == mate_in(1)


def replies(path: tuple[str, ...]) -> tuple[str, ...]:
    return ("3c3d", "8c8d") if len(path) % 2 else ("7g7f", "2g2f", "5g5f")


class TestInherit:
    def test_a_new_tree_keeps_the_old_ones_results(self) -> None:
        old = {("7g7f",): line(30, "7g7f"), ("2g2f",): line(10, "2g2f"), ("5g5f",): line(-20, "5g5f")}
        assert inherit(TWO, old, replies, MARGIN) == {BEST: old["7g7f",], OTHERS: old["2g2f",]}

    def test_down_the_tree_the_opponent_chooses(self) -> None:
        leaf = Leaf(("7g7f",))
        tree = Split((), (Split(("7g7f",), (leaf,)), OTHERS))
        old = {("7g7f", "3c3d"): line(100, "7g7f", "3c3d"), ("7g7f", "8c8d"): line(-50, "7g7f", "8c8d")}
        assert inherit(tree, old, replies, MARGIN)[leaf] == old["7g7f", "8c8d"]

    def test_moves_of_which_nothing_is_known_are_no_better_than_the_whole(self) -> None:
        """The reply 3c3d was found best at depth 10; so the other replies leave the opponent no less than 50."""
        reply, rest = Leaf(("7g7f",), ("3c3d",)), Leaf(("7g7f",), (), ("3c3d",))
        tree = Split((), (Split(("7g7f",), (reply, rest)), OTHERS))
        known = {("7g7f",): line(50, "7g7f", "3c3d", "2g2f")}
        found = inherit(tree, known, replies, MARGIN)
        assert found == {reply: known["7g7f",], rest: line(50, "7g7f", "8c8d", bound=Bound.LOWER)}
        assert TreeEvaluation(tree, found | {OTHERS: line(0, "2g2f")}, MARGIN).line == known["7g7f",]


class TestBestFirst:
    def test_the_first_that_is_named_is_the_incumbent(self) -> None:
        known = {("a",): line(0, "a"), ("b",): line(5, "b"), ("c",): line(9, "c")}
        assert [entry.pv for entry in best_first(known, (), MARGIN)] == [("a",), ("c",), ("b",)]
        known["b",] = line(10, "b")
        assert best_first(known, (), MARGIN)[0].pv == ("b",)

    def test_the_played_move_is_the_incumbent(self) -> None:
        known = {("a",): line(0, "a"), (): line(5, "b", "x")}
        assert [entry.pv[0] for entry in best_first(known, (), MARGIN)] == ["b", "a"]
        assert best_first(known, ("b",), MARGIN) == [line(5, "b", "x")]

    def test_a_moves_own_score_counts_before_lines_through_it(self) -> None:
        """One reply after which 7g7f is fine, at any depth, says little about 7g7f."""
        known = {("a", "x"): line(300, "a", "x", depth=20), ("a",): line(-40, "a", "y", depth=9)}
        assert best_first(known, (), MARGIN) == [known["a",]]
        del known["a",]
        known["a", "z"] = line(-90, "a", "z", depth=8)
        assert best_first(known, (), MARGIN) == [known["a", "x"]]

    def test_for_the_opponent_low_scores_are_good(self) -> None:
        known = {("a", move): line(score, "a", move) for move, score in (("x", 0), ("y", -50), ("z", 90))}
        assert [entry.score for entry in best_first(known, ("a",), MARGIN)] == [-50, 0, 90]


def test_a_survey_is_the_merge_at_each_position() -> None:
    reply, rest = Leaf(("7g7f",), ("3c3d",)), Leaf(("7g7f",), (), ("3c3d",))
    tree = Split((), (Split(("7g7f",), (reply, rest)), OTHERS))
    lines = {reply: line(50, "7g7f", "3c3d"), rest: line(20, "7g7f", "8c8d"), OTHERS: line(90, "2g2f")}
    assert TreeEvaluation(tree, lines, MARGIN).survey() == {("7g7f",): line(20, "7g7f", "8c8d"), (): line(90, "2g2f")}


def test_labels() -> None:
    assert [leaf.label for leaf in leaves(TWO)] == ["7g7f", "others"]
    assert Leaf().label == "all"
    assert Leaf(("7g7f",), (), ("3c3d",)).label == "7g7f others"
    assert replace(Leaf(("7g7f",)), moves=("3c3d", "8c8d")).label == "7g7f 3c3d/8c8d"


def test_a_proven_win_gives_way_to_another_one_alone() -> None:
    mate = TreeLine(9, mate_in(7), Bound.EXACT, ("7g7f",))
    deeper = TreeLine(12, 300, Bound.EXACT, ("2g2f",))
    assert replaces(deeper, replace(mate, score=mate_in(11))), "longer than its search was deep: not proven"
    assert not replaces(deeper, mate)
    assert replaces(mate, deeper)
    assert replaces(replace(mate, depth=5, score=mate_in(5)), mate)
    assert replaces(deeper, replace(mate, score=mated_in(6))), "a deeper search may find an escape"
