"""The split tree: dealing, merging, inheriting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.split import Caution, Leaf, Line, Split, flat, inherit, leaves, line_from_root, merge, takes_over
from worker.engine import Bound
from worker.score import MATE, mate_in, mated_in

CAUTION = Caution(margin=10, per_ply=20)
MOVES = ("7g7f", "2g2f", "5g5f", "3g3f")


def line(score: int, *pv: str, depth: int = 10, bound: Bound = Bound.EXACT) -> Line:
    return Line(depth, score, bound, pv)


class TestFlat:
    def test_two_nodes_best_move_against_the_others(self) -> None:
        assert flat(MOVES, 2) == Split((), (Leaf(moves=("7g7f",)), Leaf(ignore=("7g7f",))))

    def test_one_node_searches_all(self) -> None:
        assert flat(MOVES, 1) == Leaf()

    def test_no_more_leaves_than_moves(self) -> None:
        assert [leaf.label for leaf in leaves(flat(MOVES, 9))] == list(MOVES)
        assert flat(MOVES[:1], 9) == Leaf()

    @given(st.integers(1, 30), st.integers(1, 40))
    def test_every_move_is_in_exactly_one_leaf(self, moves: int, parts: int) -> None:
        names = [f"m{index}" for index in range(moves)]
        dealt = list(leaves(flat(names, parts)))
        assert len(dealt) <= parts
        for name in names:
            assert sum(leaf.covers(name) for leaf in dealt) == 1

    @pytest.mark.parametrize(("moves", "parts"), [((), 2), (MOVES, 0)])
    def test_nothing_to_deal(self, moves: tuple[str, ...], parts: int) -> None:
        with pytest.raises(ValueError, match="cannot deal"):
            flat(moves, parts)


class TestTakesOver:
    def test_at_equal_depth_the_margin_decides(self) -> None:
        best = line(30, "7g7f")
        assert not takes_over(line(39, "2g2f"), best, CAUTION)
        assert takes_over(line(40, "2g2f"), best, CAUTION)

    def test_a_shallow_challenger_needs_more(self) -> None:
        best = line(30, "7g7f", depth=14)
        assert not takes_over(line(119, "2g2f", depth=10), best, CAUTION)
        assert takes_over(line(120, "2g2f", depth=10), best, CAUTION)

    def test_a_deeper_challenger_needs_no_less(self) -> None:
        assert not takes_over(line(35, "2g2f", depth=20), line(30, "7g7f", depth=10), CAUTION)

    def test_an_upper_bound_never_does(self) -> None:
        assert not takes_over(line(500, "2g2f", bound=Bound.UPPER), line(30, "7g7f"), CAUTION)
        assert takes_over(line(500, "2g2f", bound=Bound.LOWER), line(30, "7g7f"), CAUTION)

    def test_mates_need_no_margin(self) -> None:
        assert takes_over(line(mate_in(9), "2g2f", depth=1), line(2000, "7g7f", depth=30), CAUTION)
        assert takes_over(line(mate_in(7), "2g2f"), line(mate_in(9), "7g7f"), CAUTION)
        assert not takes_over(line(mate_in(9), "2g2f"), line(mate_in(9), "7g7f"), CAUTION)
        assert takes_over(line(-3000, "2g2f", depth=1), line(mated_in(8), "7g7f", depth=30), CAUTION)
        assert takes_over(line(mated_in(10), "2g2f"), line(mated_in(8), "7g7f"), CAUTION)
        assert not takes_over(line(mated_in(10), "2g2f"), line(-3000, "7g7f"), CAUTION)


class TestMerge:
    best, others = leaves(flat(MOVES, 2))
    tree = flat(MOVES, 2)

    def test_a_leaf_that_is_unknown_is_passed_over(self) -> None:
        assert merge(self.tree, {}, CAUTION) is None
        found = merge(self.tree, {self.others: line(-300, "2g2f")}, CAUTION)
        assert found == line(-300, "2g2f", bound=Bound.LOWER)

    def test_the_first_in_the_ranking_is_the_incumbent(self) -> None:
        known = {self.best: line(30, "7g7f"), self.others: line(35, "2g2f")}
        assert merge(self.tree, known, CAUTION) == line(30, "7g7f")
        known[self.others] = line(45, "2g2f")
        assert merge(self.tree, known, CAUTION) == line(45, "2g2f")

    def test_two_plies_deep(self) -> None:
        """7g7f has the replies 3c3d and the rest; scores are from the root."""
        reply, rest = Leaf(("7g7f",), ("3c3d",)), Leaf(("7g7f",), (), ("3c3d",))
        tree = Split((), (Split(("7g7f",), (reply, rest)), Leaf(ignore=("7g7f",))))
        others = Leaf(ignore=("7g7f",))
        known = {reply: line(50, "7g7f", "3c3d"), rest: line(20, "7g7f", "8c8d"), others: line(25, "2g2f")}
        # The opponent prefers 8c8d, which is worse for us by more than the margin; the challenger's 25 is not enough.
        assert merge(tree, known, CAUTION) == line(20, "7g7f", "8c8d")
        known[others] = line(31, "2g2f")
        assert merge(tree, known, CAUTION) == line(31, "2g2f")

    def test_an_unknown_refutation_is_no_ground_to_prefer_a_move(self) -> None:
        """Where only one reply to 2g2f is known, its score is at most that, and 7g7f stays."""
        reply, rest = Leaf(("2g2f",), ("3c3d",)), Leaf(("2g2f",), (), ("3c3d",))
        tree = Split((), (Leaf(moves=("7g7f",)), Split(("2g2f",), (reply, rest))))
        known = {Leaf(moves=("7g7f",)): line(10, "7g7f"), reply: line(400, "2g2f", "3c3d")}
        assert merge(tree, known, CAUTION) == line(10, "7g7f")
        known[rest] = line(390, "2g2f", "8c8d")
        assert merge(tree, known, CAUTION) == line(390, "2g2f", "8c8d")

    def test_unknown_children_do_not_lose(self) -> None:
        """The two workers of one move stay silent: Gikou resigned here."""
        reply, rest = Leaf(("7g7f",), ("3c3d",)), Leaf(("7g7f",), (), ("3c3d",))
        tree = Split((), (Split(("7g7f",), (reply, rest)), Leaf(ignore=("7g7f",))))
        found = merge(tree, {Leaf(ignore=("7g7f",)): line(-50, "2g2f")}, CAUTION)
        assert found is not None
        assert found.pv == ("2g2f",)

    @given(st.permutations([-120, 0, 15, 90, 400]), st.integers(0, 60))
    def test_without_margins_the_highest_of_equal_depth_wins(self, scores: list[int], depth: int) -> None:
        names = [f"m{index}" for index in range(5)]
        tree = flat(names, 5)
        known = {leaf: line(s, leaf.moves[0], depth=depth) for leaf, s in zip(leaves(tree), scores, strict=True)}
        found = merge(tree, known, Caution(0, 0))
        assert found is not None
        assert found.score == 400


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


class TestInherit:
    def test_a_new_tree_knows_what_the_old_one_knew(self) -> None:
        old = [line(30, "7g7f", depth=12), line(10, "2g2f", depth=11), line(-20, "5g5f", depth=9)]
        tree = flat(MOVES, 2)
        known = inherit(tree, old, MOVES, CAUTION)
        assert known == {Leaf(moves=("7g7f",)): old[0], Leaf(ignore=("7g7f",)): old[1]}

    def test_the_deepest_line_of_a_move_counts(self) -> None:
        old = [line(90, "7g7f", depth=4), line(30, "7g7f", depth=12), line(60, "7g7f", depth=8)]
        assert inherit(flat(MOVES, 1), old, MOVES, CAUTION) == {Leaf(): old[1]}

    def test_what_does_not_run_through_a_leaf_is_not_its(self) -> None:
        assert inherit(flat(MOVES, 2), [line(30, "7g7f")], MOVES, CAUTION).keys() == {Leaf(moves=("7g7f",))}

    def test_down_the_tree_the_opponent_chooses(self) -> None:
        leaf = Leaf(("7g7f",))
        tree = Split((), (Split(("7g7f",), (leaf,)), Leaf(ignore=("7g7f",))))
        old = [line(100, "7g7f", "3c3d"), line(-50, "7g7f", "8c8d")]
        assert inherit(tree, old, ("3c3d", "8c8d"), CAUTION)[leaf] == old[1]


def test_labels() -> None:
    assert [leaf.label for leaf in leaves(flat(MOVES, 3))] == ["7g7f", "2g2f", "others"]
    assert Leaf().label == "all"
    assert Leaf(("7g7f",), (), ("3c3d",)).label == "7g7f others"
    assert replace(Leaf(("7g7f",)), moves=("3c3d", "8c8d")).label == "7g7f 3c3d/8c8d"
