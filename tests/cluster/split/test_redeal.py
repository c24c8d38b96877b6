"""Re-dealing: the reasons, the new assignments, and the coordinator's steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cluster.coordination.split_group
from cluster.api import SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost
from cluster.coordination.group import Assignment
from cluster.coordination.settings import Settings
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import Phase
from cluster.network.messages import Job
from cluster.split.dealing import Dealing, deal
from cluster.split.evaluation import OPEN, TreeEvaluation, Window
from cluster.split.redeal import RedealLimits, contention, is_decided, match, reason, window_is_lost
from cluster.split.tree import KnownLines, Leaf, Legal, Split, TakeoverMargin, Tree, TreeLine, leaves
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench
from tests.cluster.split.trees import line
from worker.engine import Bound
from worker.score import mate_in
from worker.shogi import STARTPOS

MARGIN = TakeoverMargin(margin=10, shallow=0, per_ply=20)
A, B, OTHERS = Leaf(moves=("a",)), Leaf(moves=("b",)), Leaf(ignore=("a", "b"))
THREE = Split((), (A, B, OTHERS))
A_R, A_REST = Leaf(("a",), ("r",)), Leaf(("a",), ignore=("r",))
DEEP = Split((), (Split(("a",), (A_R, A_REST)), Leaf(ignore=("a",))))


class TestReason:
    def test_nothing_new(self) -> None:
        known = {A: line(50, "a"), B: line(20, "b"), OTHERS: line(40, "c", bound=Bound.UPPER)}
        assert reason(TreeEvaluation(THREE, known, MARGIN), frozenset({"a"}), known[A]) is None
        assert reason(TreeEvaluation(THREE, {}, MARGIN), frozenset(), None) is None
        assert reason(TreeEvaluation(Leaf(), {Leaf(): line(50, "a")}, MARGIN), frozenset(), line(50, "a")) is None

    def test_another_move_is_preferred(self) -> None:
        known = {A: line(50, "a"), B: line(60, "b")}
        assert reason(TreeEvaluation(THREE, known, MARGIN), frozenset({"a", "b"}), known[B]) == "b is preferred"

    def test_another_reply_is_preferred(self) -> None:
        known = {A_R: line(50, "a", "r"), A_REST: line(20, "a", "s")}
        assert reason(TreeEvaluation(DEEP, known, MARGIN), frozenset({"a"}), known[A_REST]) == "a s is preferred"
        del known[A_R]
        # The reply that is thought best has no result yet.
        assert reason(TreeEvaluation(DEEP, known, MARGIN), frozenset({"a"}), known[A_REST]) is None

    def test_a_move_in_contention(self) -> None:
        known = {A: line(50, "a"), B: line(39, "b")}
        assert reason(TreeEvaluation(THREE, known, MARGIN), frozenset({"a"}), known[A]) is None
        known[B] = line(40, "b", bound=Bound.LOWER)
        assert reason(TreeEvaluation(THREE, known, MARGIN), frozenset({"a"}), known[A]) == "b in contention"
        assert contention(TreeEvaluation(THREE, known, MARGIN)) == {"a", "b"}
        known[B] = line(45, "b", bound=Bound.UPPER)
        assert reason(TreeEvaluation(THREE, known, MARGIN), frozenset({"a"}), known[A]) is None


class TestDecided:
    best = line(50, "a")

    @pytest.mark.parametrize(
        ("found", "decided"),
        [
            (line(30, "b", bound=Bound.UPPER, depth=12), True),
            (line(30, "b", bound=Bound.UPPER, depth=11), False),
            (line(30, "b", depth=12), False),
            (line(55, "b", bound=Bound.UPPER, depth=12), False),
        ],
    )
    def test_a_bound_below_the_best_at_more_depth(self, found: TreeLine, decided: bool) -> None:
        assert is_decided(B, TreeEvaluation(THREE, {B: found}, MARGIN), self.best, 2) is decided

    def test_the_played_move_is_not(self) -> None:
        found = line(30, "a", bound=Bound.UPPER, depth=20)
        assert not is_decided(A, TreeEvaluation(THREE, {A: found}, MARGIN), self.best, 2)
        assert not is_decided(
            A_REST, TreeEvaluation(DEEP, {A_REST: replace(found, pv=("a", "s"))}, MARGIN), self.best, 2
        )
        assert not is_decided(B, TreeEvaluation(THREE, {}, MARGIN), self.best, 2)


def job(alpha: int | None = None, beta: int | None = None) -> Job:
    return Job(1, 1, STARTPOS, alpha=alpha, beta=beta)


class TestLostWindow:
    def test_the_best_score_fell(self) -> None:
        found = line(30, "b", bound=Bound.UPPER)
        assert window_is_lost(job(alpha=40), B, found, Window(alpha=20), 10)
        assert window_is_lost(job(alpha=40), B, found, OPEN, 10)
        assert not window_is_lost(job(alpha=40), B, found, Window(alpha=30), 10)
        assert not window_is_lost(job(alpha=40), B, found, Window(alpha=60), 10)

    def test_an_exact_score_loses_nothing(self) -> None:
        assert not window_is_lost(job(alpha=40), B, line(45, "b"), OPEN, 10)
        assert not window_is_lost(job(alpha=40), B, None, OPEN, 10)
        assert not window_is_lost(job(), B, line(30, "b", bound=Bound.UPPER), OPEN, 10)

    def test_a_refutation_that_is_none_any_more(self) -> None:
        """After a the opponent had at least -30; now more is needed to refute a."""
        found = line(30, "a", "r", bound=Bound.UPPER)
        assert window_is_lost(job(beta=-40), A_R, found, Window(beta=-10), 10)
        assert not window_is_lost(job(beta=-40), A_R, found, Window(beta=-35), 10)


class TestMatch:
    def test_near_to_the_last_leaf(self) -> None:
        free = [(OTHERS, 0), (B, 0), (A, 0)]
        assert match(free, [A_R, A_REST, Leaf(ignore=("a",))]) == [2, 0, 1]

    def test_the_node_that_found_a_move_among_the_others_gets_it(self) -> None:
        assert match([(A, 0), (Leaf(ignore=("a",)), 0)], [Leaf(moves=("c",)), Leaf(ignore=("c",))]) == [1, 0]

    def test_fast_nodes_first(self) -> None:
        assert match([(B, 3), (A, 0)], [A, B]) == [0, 1]

    def test_fewer_nodes_than_leaves_or_more(self) -> None:
        assert match([(B, 0)], [A, B]) == [0]
        assert match([(A, 0), (B, 0)], [B]) == [1]


class TestJudge:
    """The root searchers' line, unless a move that the tree tested takes over."""

    def test_the_root_searchers_line_is_the_incumbent(self) -> None:
        root_result = line(50, "a", depth=9)
        known = {A: line(90, "a", depth=12), B: line(59, "b", depth=9), OTHERS: line(99, "c", bound=Bound.UPPER)}
        assert TreeEvaluation(THREE, known, MARGIN).best(root_result) == root_result
        known[B] = line(60, "b", depth=9)
        assert TreeEvaluation(THREE, known, MARGIN).best(root_result) == known[B]
        assert TreeEvaluation(THREE, known, MARGIN).best(None) == known[A]

    def test_without_moves_to_test(self) -> None:
        assert TreeEvaluation(Leaf(), {}, MARGIN).best(line(5, "a")) == line(5, "a")
        assert TreeEvaluation(Leaf(), {Leaf(): line(5, "a")}, MARGIN).best(None) == line(5, "a")


EAGER = replace(SETTINGS, redeal=RedealLimits(rest=0.05, last=0.9))


class TestCoordinator:
    def test_jobs_are_tested_against_the_best(self) -> None:
        bench = Bench(2)
        bench.split()
        assert (bench.job("n1").alpha, bench.job("n1").beta) == (None, None)
        assert bench.job("n2").alpha == 20

    def test_a_move_that_takes_over_is_dealt_nodes(self) -> None:
        bench = Bench(2, EAGER)
        bench.split()
        bench.tick(100)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 8, 60, "2g2f", "8c8d")
        dealt = bench.events("dealt")[0]
        assert dealt["why"] == "2g2f is preferred"
        # Each node continues with the leaf that it knows best.
        assert bench.job("n2").searchmoves == ("2g2f",)
        assert bench.job("n1").ignoremoves == ("2g2f",)
        assert bench.job("n1").alpha == 50

    def test_not_before_a_rest_nor_near_the_end(self) -> None:
        for after, dealt in ((10, False), (100, True), (640, False)):
            bench = Bench(2, EAGER)
            bench.split()
            bench.tick(after)
            bench.report("n1", 8, 30, "7g7f", "3c3d")
            bench.report("n2", 8, 60, "2g2f", "8c8d")
            assert bool(bench.events("dealt")) is dealt

    def test_when_the_best_falls_the_others_are_tested_again(self) -> None:
        bench = Bench(2, EAGER)
        bench.split()
        bench.tick(100)
        before = bench.job("n1")
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 8, 10, "2g2f", bound=Bound.UPPER)
        bench.report("n1", 9, -40, "7g7f", "3c3d")
        assert bench.events("dealt")[0]["why"] == "the window of others is lost"
        assert bench.job("n1") is before
        assert (bench.job("n2").ignoremoves, bench.job("n2").alpha) == (("7g7f",), -50)

    def test_a_decided_leaf_gives_its_node_away_and_gets_one_again(self) -> None:
        bench = Bench(2, EAGER)
        bench.split()
        bench.tick(100)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 10, 10, "2g2f", bound=Bound.UPPER)
        assert bench.events("dealt")[0]["why"] == "others is decided"
        jobs = [bench.job("n1"), bench.job("n2")]
        assert [job.moves for job in jobs] == [("7g7f",), ("7g7f",)]
        assert {job.searchmoves or job.ignoremoves for job in jobs} == {("3c3d",)}
        bench.tick(100)
        first = next(node for node in ("n1", "n2") if bench.job(node).searchmoves)
        bench.report(first, 12, -30, "3c3d")
        assert bench.events("dealt")[0]["why"] == "others is due"
        assert ("7g7f",) in [bench.job(node).ignoremoves for node in ("n1", "n2")]

    def test_a_ponder_like_search_deals_again_too(self) -> None:
        bench = Bench(2, replace(EAGER, presearch_max_ms=100))
        bench.feed(StartSearch(SearchRequest(1, STARTPOS)))
        bench.report("n1", 5, 30, "7g7f", "3c3d")
        bench.tick(100)
        assert bench.events("dealt")
        bench.tick(600)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 8, 60, "2g2f", "8c8d")
        assert bench.events("dealt")[0]["why"] == "2g2f is preferred"


class TestTrunk:
    settings = replace(EAGER, root_share=0.3)

    def test_a_root_searcher_goes_on_through_presearch_and_deals(self) -> None:
        bench = Bench(3, self.settings)
        bench.split()
        job = bench.job("n1")
        assert (job.multipv, job.searchmoves, job.ignoremoves, job.moves) == (1, (), (), ())
        assert bench.job("n2").ignoremoves or bench.job("n3").ignoremoves
        bench.tick(100)
        bench.report("n1", 8, 40, "2g2f", "8c8d")
        assert bench.events("dealt")[0]["why"] == "2g2f is preferred"
        assert bench.job("n1") is job
        bench.tick(600)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 40)

    def test_a_tested_move_takes_over(self) -> None:
        bench = Bench(2, self.settings)
        bench.split()
        assert bench.job("n2").ignoremoves == ("7g7f",)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 8, 45, "2g2f")
        bench.tick(700)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 45)

    def test_a_root_searcher_that_dies_is_replaced_and_remembered(self) -> None:
        bench = Bench(3, self.settings)
        bench.split()
        bench.report("n1", 8, 33, "7g7f", "3c3d")
        bench.feed(NodeLost("n1", "died"))
        jobs = [bench.job("n2"), bench.job("n3")]
        assert [(job.searchmoves, job.ignoremoves) for job in jobs if not job.moves].count(((), ())) == 1
        bench.tick(700)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("7g7f", 33)

    def test_with_one_node_left_it_searches_all(self) -> None:
        bench = Bench(2, self.settings)
        bench.split()
        bench.feed(NodeLost("n1", "died"))
        assert (bench.job("n2").searchmoves, bench.job("n2").ignoremoves) == ((), ())
        bench.report("n2", 9, 12, "2g2f", "8c8d")
        bench.tick(700)
        assert bench.decisions[0].move == "2g2f"

    def test_a_mate_that_is_proven_at_little_depth_ends_the_search(self) -> None:
        """As the search for mates finds it: as deep as it is long."""
        bench = Bench(2, self.settings)
        bench.split(TIMED)
        bench.report("n1", 18, 30, "7g7f", "3c3d")
        bench.report("n1", 9, mate_in(9), "2g2f", "8c8d")
        assert bench.decisions[0].move == "2g2f"

    def test_a_tested_move_that_is_mated_at_little_depth_does_not_take_over(self) -> None:
        bench = Bench(2, self.settings)
        bench.split(TIMED)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 15, 10, "2g2f", "8c8d")
        bench.report("n2", 7, -mate_in(7), "2g2f", "8c8d")
        bench.report("n1", 16, -40, "7g7f", "3c3d")
        bench.tick(700)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("7g7f", -40)

    def test_a_move_that_presearch_and_root_searcher_rank_counts_once_and_first(self) -> None:
        bench = Bench(4, replace(EAGER, root_share=0.75))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 25, 30, "7g7f", "3c3d")
        for rank, move in enumerate(("2g2f", "7g7f", "5g5f"), 1):
            bench.report("n4", 6, 40 - rank, move, multipv=rank)
        bench.tick(300)
        assert bench.events("dealt")
        bench.report("n2", 7, 35, "2g2f", "8c8d")
        bench.tick(700)
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("7g7f", 25)

    def test_a_node_that_comes_back_does_not_answer_for_one_that_has_come_deep(self) -> None:
        bench = Bench(2, self.settings)
        bench.split(replace(TIMED, soft_ms=5000, hard_ms=9000))
        bench.feed(NodeLost("n1", "died"))
        bench.report("n2", 22, 30, "7g7f", "3c3d")
        searching = bench.job("n2")
        bench.feed(NodeJoined("n1"))
        assert bench.job("n2") is searching
        assert bench.job("n1").searchmoves or bench.job("n1").ignoremoves
        bench.report("n1", 1, 60, "2g2f")
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("7g7f", 22)

    def test_the_last_root_searcher_goes_on_undisturbed(self) -> None:
        bench = Bench(2, self.settings)
        bench.split(replace(TIMED, soft_ms=5000, hard_ms=9000))
        bench.report("n1", 18, 30, "7g7f", "3c3d")
        bench.report("n2", 20, 10, "2g2f", bound=Bound.UPPER)
        job = bench.job("n1")
        bench.feed(NodeLost("n2", "died"))
        assert bench.job("n1") is job

    def test_the_fastest_nodes_are_the_root_searchers(self) -> None:
        bench = Bench(0, self.settings)
        for name, nps in (("n1", 500_000), ("n2", 1_000_000), ("n3", 3_000_000)):
            bench.feed(NodeJoined(name, nps=nps))
        bench.feed(StartSearch(TIMED))
        assert [bench.job(name).multipv for name in ("n1", "n2", "n3")] == [2, 2, 1]

    def test_a_node_without_a_leaf_joins_the_root_searchers_and_leaves_them_again(self) -> None:
        bench = Bench(4, replace(EAGER, root_share=0.75))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f", "3c3d")
        bench.report("n4", 5, 30, "7g7f", "3c3d", multipv=1)
        bench.report("n4", 5, 20, "2g2f", "3c3d", multipv=2)
        bench.tick(300)
        root_jobs = [bench.job(f"n{number}") for number in (1, 2, 3)]
        scout = bench.job("n4")
        bench.tick(100)
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n4", 10, 10, "2g2f", bound=Bound.UPPER)
        assert bench.events("dealt")[0]["why"] == "others is decided"
        assert (bench.job("n4").searchmoves, bench.job("n4").ignoremoves, bench.job("n4").moves) == ((), (), ())
        bench.tick(100)
        bench.report("n2", 14, 33, "7g7f", "3c3d")
        assert bench.events("dealt")[0]["why"] == "others is due"
        assert bench.job("n4").ignoremoves == scout.ignoremoves
        assert [bench.job(f"n{number}") for number in (1, 2, 3)] == root_jobs


class TestEnd:
    def test_a_job_that_ends_early_makes_room_for_another(self) -> None:
        bench = Bench(2, EAGER)
        bench.split()
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.report("n2", 8, 10, "2g2f", bound=Bound.UPPER)
        bench.tick(100)
        bench.done("n2")
        assert bench.events("dealt")[0]["why"] == "the job of others is over"
        assert {bench.job(node).moves for node in ("n1", "n2")} == {("7g7f",)}
        ids = {bench.job(node).job_id for node in ("n1", "n2")}
        bench.tick(100)
        first = next(node for node in ("n1", "n2") if bench.job(node).searchmoves)
        bench.report(first, 9, -30, "3c3d")
        assert {bench.job(node).job_id for node in ("n1", "n2")} == ids, "no redeal after the end"

    def test_a_leaf_searched_to_its_depth_is_not_dealt_again(self) -> None:
        bench = Bench(2, EAGER)
        bench.split(SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=3000, depth=10))
        bench.report("n2", 9, 10, "2g2f", bound=Bound.UPPER)
        bench.tick(100)
        bench.done("n2")
        assert not bench.events("dealt")


def test_a_deal_over_many_decided_leaves_tries_few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[int] = []

    def counted(known: KnownLines, legal: Legal, count: int, dealing: Dealing, takeover: TakeoverMargin) -> Tree:
        parts.append(count)
        return deal(known, legal, count, dealing, takeover)

    monkeypatch.setattr(cluster.coordination.split_group, "deal", counted)

    def legal(path: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"m{len(path)}_{number}" for number in range(80)) if len(path) < 8 else ()

    group = SplitGroup("split", [Assignment(f"n{number}") for number in range(256)])
    group.choose_root_searchers(group.assignments, 0.75, {})
    group.enter(Phase.PRESEARCH)
    group.begin_split([line(50 - 6 * number, f"m0_{number}", "m1_0", "m2_0") for number in range(7)])
    group.deal(group.assignments, legal, Settings(), {})
    for leaf in tuple(leaves(group.tree))[1:]:
        first = next(move for move in legal(leaf.path) if leaf.covers(move))
        if leaf.path:
            group.leaf_lines[leaf] = line(45, *leaf.path, first, f"m{len(leaf.path) + 1}_3")
        else:
            group.leaf_lines[leaf] = line(20, first, "m1_1", "m2_1", bound=Bound.UPPER, depth=14)
    parts.clear()
    group.deal(group.assignments, legal, Settings(), {})
    assert 1 < len(parts) <= 4
