"""Dealing nodes over moves: published trees as special cases, and the invariants for any number of nodes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.split.dealing import Dealing, deal, highest_averages, likelihood
from cluster.split.tree import Leaf, Split, TakeoverMargin, Tree, TreeLine, leaves
from tests.cluster.split.trees import check_tree, line
from worker.score import mate_in, mated_in

MARGIN = TakeoverMargin(0, 0, 0)
GIKOU = Dealing(math.inf, width=7, unseen=0, plies=1)
GPS = Dealing(math.inf, width=2, unseen=0)
BRANCHES = 9


def names(path: tuple[str, ...], branches: int = BRANCHES) -> tuple[str, ...]:
    """The moves after a path of a game with ``branches`` moves in every position."""
    return tuple(f"{chr(97 + len(path))}{index}" for index in range(1, branches + 1))


def known(*lines: TreeLine) -> dict[tuple[str, ...], TreeLine]:
    """The best lines by their prefix: the first move, the first two moves, and so on; the first line is played."""
    found: dict[tuple[str, ...], TreeLine] = {(): lines[0]} if lines else {}
    for entry in lines:
        key = entry.pv[:1]
        while key in found:
            key = entry.pv[: len(key) + 1]
        found[key] = entry
    return found


def multipv(*scores: int, plies: int = 8) -> dict[tuple[str, ...], TreeLine]:
    """Moves a1, a2, … with these scores, each with the same best replies."""
    return known(
        *(
            line(score, f"a{index}", *(f"{chr(97 + ply)}1" for ply in range(1, plies)))
            for index, score in enumerate(scores, 1)
        )
    )


def nodes_of(tree: Tree, pv: tuple[str, ...]) -> Fraction:
    """The nodes that search below the moves ``pv``; a leaf of several moves counts as a part for each."""
    total = Fraction(0)
    for leaf in leaves(tree):
        if leaf.path[: len(pv)] == pv:
            total += 1
        elif leaf.path == pv[:-1] and leaf.covers(pv[-1]):
            total += Fraction(1, sum(leaf.covers(move) for move in names(leaf.path)))
    return total


def labels(tree: Tree) -> list[str]:
    return [leaf.label for leaf in leaves(tree)]


class TestPublishedTrees:
    def test_gikou(self) -> None:
        """16 workers: the best move has three (best reply, second, others), the next six have two each, one has the
        rest."""
        tree = deal(multipv(70, 60, 50, 40, 30, 20, 10, plies=2), names, 16, GIKOU, MARGIN)
        assert isinstance(tree, Split)
        best, *middle, others = tree.children
        assert [len(list(leaves(child))) for child in tree.children] == [3, 2, 2, 2, 2, 2, 2, 1]
        assert isinstance(best, Split)
        assert best.children[0] == Leaf(("a1",), moves=("b1",))
        for number, child in enumerate(middle, 2):
            move = f"a{number}"
            assert child == Split((move,), (Leaf((move,), moves=("b1",)), Leaf((move,), ignore=("b1",))))
        assert others == Leaf(ignore=tuple(f"a{number}" for number in range(1, 8)))

    def test_gikou_with_two_known_replies(self) -> None:
        found = {**multipv(70, 60, 50, 40, 30, 20, 10, plies=2), ("a1", "b2"): line(80, "a1", "b2", depth=9)}
        tree = deal(found, names, 16, GIKOU, MARGIN)
        assert labels(tree)[:3] == ["a1 b1", "a1 b2", "a1 others"]

    def test_gps_shogi_top_two(self) -> None:
        """The two best moves and the others; each of the two again: best reply, second and others."""
        found = known(line(50, "a1", "b1", "c1"), line(40, "a2", "b1"), line(60, "a1", "b2"), line(50, "a2", "b3"))
        tree = deal({**found, ("a3",): line(30, "a3", "b1")}, names, 7, GPS, MARGIN)
        assert labels(tree) == ["a1 b1", "a1 b2", "a1 others", "a2 b1", "a2 b3", "a2 others", "others"]

    def test_gps_shogi_recursion(self) -> None:
        found = known(line(50, "a1", "b1", "c1"), line(40, "a2", "b1"), line(60, "a1", "b2"), line(50, "a2", "b3"))
        assert labels(deal(found, names, 3, GPS, MARGIN)) == ["a1", "a2", "others"]
        deeper = deal(found, names, 8, GPS, MARGIN)
        assert labels(deeper)[:4] == ["a1 b1 c1", "a1 b1 others", "a1 b2", "a1 others"]


class TestSmallFleets:
    def test_one_node_searches_all(self) -> None:
        assert deal(multipv(50, 40), names, 1, Dealing(), MARGIN) == Leaf()

    def test_two_nodes_best_move_against_the_others(self) -> None:
        assert labels(deal(multipv(50, 40), names, 2, Dealing(), MARGIN)) == ["a1", "others"]

    def test_a_clear_best_move_is_split_down_its_pv(self) -> None:
        tree = deal(multipv(300, -200, -300), names, 4, Dealing(), MARGIN)
        assert labels(tree) == ["a1 b1 c1", "a1 b1 others", "a1 others", "others"]

    def test_near_moves_are_told_apart(self) -> None:
        assert labels(deal(multipv(50, 48, 46), names, 4, Dealing(), MARGIN)) == ["a1", "a2", "a3", "others"]

    def test_the_move_that_would_be_played_stays_first(self) -> None:
        found = known(line(30, "a2", "b1"), line(35, "a1", "b1"))
        assert labels(deal(found, names, 3, Dealing(), TakeoverMargin(10, 0, 0)))[0] == "a2"
        assert labels(deal(found, names, 3, Dealing(), TakeoverMargin(5, 0, 0)))[0] == "a1"

    def test_the_opponent_chooses_the_lower_score(self) -> None:
        found = known(line(50, "a1", "b1"), line(-50, "a1", "b2", depth=9), line(-300, "a2"))
        assert labels(deal(found, names, 3, Dealing(), MARGIN)) == ["a1 b2", "a1 others", "others"]

    def test_all_that_is_left_is_one_move(self) -> None:
        def two(path: tuple[str, ...]) -> tuple[str, ...]:
            return names(path, 2)

        assert labels(deal(multipv(50), two, 2, Dealing(), MARGIN)) == ["a1", "a2"]

    def test_a_forced_reply_is_gone_through(self) -> None:
        def forced(path: tuple[str, ...]) -> tuple[str, ...]:
            return names(path, 1 if len(path) == 1 else 3)

        tree = deal(multipv(50, -900), forced, 3, Dealing(), MARGIN)
        assert labels(tree) == ["a1 b1 c1", "a1 b1 others", "others"]
        check_tree(tree, forced)

    def test_a_game_end_is_no_position_to_split(self) -> None:
        def mated(path: tuple[str, ...]) -> tuple[str, ...]:
            return names(path) if not path else ()

        tree = deal(multipv(mate_in(1), 50), mated, 5, Dealing(), MARGIN)
        assert nodes_of(tree, ("a1",)) == 1

    @pytest.mark.parametrize(("branches", "parts"), [(0, 2), (3, 0)])
    def test_nothing_to_deal(self, branches: int, parts: int) -> None:
        with pytest.raises(ValueError, match="cannot deal"):
            deal({}, lambda path: names(path, branches), parts, Dealing(), MARGIN)


class TestLikelihood:
    def test_shallow_scores_say_less(self) -> None:
        """The same lead: at depth 20 it puts three nodes on the best move, not at depth 2."""
        deep = known(line(120, "a1", "b1", "c1", depth=20), line(60, "a2", depth=20))
        shallow = known(line(120, "a1", "b1", "c1", depth=2), line(60, "a2", depth=2))
        assert nodes_of(deal(deep, names, 4, Dealing(), MARGIN), ("a1",)) == 3
        assert nodes_of(deal(shallow, names, 4, Dealing(), MARGIN), ("a1",)) == 2

    def test_a_known_loss_has_none(self) -> None:
        found = known(line(0, "a1", "b1", "c1", "d1", "e1"), line(mated_in(4), "a2"))
        tree = deal(found, names, 6, Dealing(temperature=math.inf), MARGIN)
        assert nodes_of(tree, ("a2",)) < 1

    @given(st.floats(-3000, 0), st.floats(-3000, 0), st.floats(1, 1000))
    def test_falls_with_the_score(self, one: float, other: float, temperature: float) -> None:
        low, high = sorted((one, other))
        assert 0 <= likelihood(low, temperature) <= likelihood(high, temperature) <= likelihood(0, temperature) == 1


@st.composite
def trees_of_lines(draw: st.DrawFn) -> dict[tuple[str, ...], TreeLine]:
    count = draw(st.integers(0, 12))
    found: dict[tuple[str, ...], TreeLine] = {}
    for _ in range(count):
        pv = tuple(draw(st.sampled_from(names(("x",) * ply))) for ply in range(draw(st.integers(1, 6))))
        key = pv[: draw(st.integers(0, len(pv)))]
        found[key] = line(draw(st.integers(-400, 400)), *pv, depth=draw(st.integers(1, 20)))
    return found


DEALINGS = st.builds(
    Dealing,
    temperature=st.sampled_from([0.0, 1.0, 20.0, 200.0, math.inf]),
    shallow=st.sampled_from([0.0, 200.0]),
    unseen=st.sampled_from([0.0, 0.3, 1.0]),
    width=st.integers(1, 12),
    plies=st.integers(0, 8),
)


class TestAnyNumberOfNodes:
    @given(trees_of_lines(), st.integers(1, 1000), DEALINGS)
    @settings(max_examples=75)
    def test_every_move_is_in_exactly_one_leaf_at_every_level(
        self, found: dict[tuple[str, ...], TreeLine], parts: int, how: Dealing
    ) -> None:
        tree = deal(found, names, parts, how, TakeoverMargin(15, 0, 30))
        check_tree(tree, names)
        assert 1 <= len(list(leaves(tree))) <= parts

    @given(trees_of_lines(), st.integers(1, 60))
    @settings(max_examples=75)
    def test_no_node_is_left_over(self, found: dict[tuple[str, ...], TreeLine], parts: int) -> None:
        assert len(list(leaves(deal(found, names, parts, Dealing(), MARGIN)))) == parts

    @given(st.lists(st.integers(-300, 300), min_size=1, max_size=BRANCHES), st.integers(1, 1000))
    @settings(max_examples=75)
    def test_a_likelier_move_never_has_fewer_nodes(self, scores: list[int], parts: int) -> None:
        tree = deal(multipv(*scores), names, parts, Dealing(), MARGIN)
        ranked = sorted(range(len(scores)), key=lambda index: -scores[index])
        nodes = [nodes_of(tree, (f"a{index + 1}",)) for index in ranked]
        for likelier, less in pairwise(ranked):
            if scores[likelier] > scores[less]:
                assert nodes_of(tree, (f"a{likelier + 1}",)) >= nodes_of(tree, (f"a{less + 1}",))
        unseen = [nodes_of(tree, (move,)) for move in names(())[len(scores) :]]
        assert all(few <= min(nodes) for few in unseen)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=80), st.integers(0, 80), st.integers(2, 1000))
    @settings(max_examples=100)
    def test_averages(self, weights: list[float], named: int, parts: int) -> None:
        weights.sort(reverse=True)
        own, shared = highest_averages(weights, min(named, len(weights)), parts)
        assert sum(own) + shared == parts or (sum(own) + shared >= parts and len(weights) == 1)
        assert own == sorted(own, reverse=True)
        assert shared <= len(weights) - len(own)
        assert (shared == 0) == (len(own) == len(weights))

    @pytest.mark.parametrize("parts", [3, 1000])
    def test_a_wide_game(self, parts: int) -> None:
        """As many moves as shogi can have."""
        tree = deal(multipv(50, 40, 10), lambda path: names(path, 593), parts, Dealing(), MARGIN)
        assert len(list(leaves(tree))) == parts
