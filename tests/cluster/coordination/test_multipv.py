"""Several lines, merged from all nodes: by depth within an engine, by score between moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from cluster.api import Progress, SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost
from cluster.coordination.settings import Mode, Settings
from cluster.coordination.vote import best_lines
from cluster.drivers.local_driver import LocalSearcher
from cluster.split.tree import TreeLine
from tests.answers import root_line
from tests.cluster.coordination.bench import SETTINGS, Bench
from tests.cluster.heard import Heard
from worker.engine import Bound
from worker.score import mate_in
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

SLACK = 2


def line(depth: int, score: int, *pv: str) -> TreeLine:
    return TreeLine(depth, score, Bound.EXACT, pv)


def shown(lines: Sequence[TreeLine]) -> list[tuple[str, int, int]]:
    return [(line.pv[0], line.depth, line.score) for line in lines]


class TestMerge:
    def test_the_deepest_line_of_a_move_counts_and_the_best_score_is_first(self) -> None:
        first, second, third = line(12, 30, "7g7f"), line(11, 35, "2g2f"), line(12, 1, "6g6f")
        found = [line(10, 50, "7g7f"), line(10, 20, "2g2f"), first, second, third]
        merged = best_lines({"a": found}, 5, SLACK)
        assert shown(merged) == [("2g2f", 11, 35), ("7g7f", 12, 30), ("6g6f", 12, 1)]
        assert best_lines({"a": found}, 2, SLACK) == merged[:2]

    def test_a_much_shallower_line_counts_only_if_it_is_a_mate(self) -> None:
        found = [line(12, 30, "7g7f"), line(9, 300, "2g2f"), line(3, mate_in(3), "6g6f")]
        assert [name for name, _, _ in shown(best_lines({"a": found}, 5, SLACK))] == ["6g6f", "7g7f"]

    def test_depths_of_two_engines_do_not_compare(self) -> None:
        ours, theirs = [line(20, 30, "7g7f"), line(20, 10, "2g2f")], [line(6, 25, "2g2f"), line(6, 20, "6g6f")]
        merged = best_lines({"a": ours, "b": theirs}, 5, SLACK)
        assert shown(merged) == [("7g7f", 20, 30), ("2g2f", 6, 25), ("6g6f", 6, 20)]


class TestCoordinator:
    @pytest.mark.parametrize("mode", [Mode.SPLIT, Mode.TIERS, Mode.CONSULT])
    def test_every_node_searches_the_whole_root_for_as_many(self, mode: Mode) -> None:
        bench = Bench(3, replace(SETTINGS, mode=mode))
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, multipv=3)))
        for name in ("n1", "n2", "n3"):
            job = bench.job(name)
            assert (job.multipv, job.searchmoves, job.ignoremoves, job.movetime_ms) == (3, (), (), None)
        bench.feed(NodeJoined("n4"))
        assert bench.job("n4").multipv == 3

    def test_lines_of_all_nodes_are_merged(self) -> None:
        bench = Bench(2)
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, multipv=2)))
        bench.report("n1", 8, 30, "7g7f", "3c3d", multipv=1)
        bench.report("n1", 8, 10, "2g2f", multipv=2)
        bench.report("n2", 9, 40, "2g2f", "8c8d", multipv=1)
        bench.report("n2", 9, 20, "6g6f", multipv=2)
        bench.tick(200)
        [progress] = [i for i in bench.out if isinstance(i, Progress)]
        assert shown(progress.lines) == [("2g2f", 9, 40), ("7g7f", 8, 30)]
        bench.feed(StopSearch(1))
        [decision] = bench.decisions
        assert decision.move == "2g2f"
        assert decision.lines == (root_line(40, 9, ("2g2f", "8c8d")), root_line(30, 8, ("7g7f", "3c3d")))

    def test_the_answer_heads_the_lines_and_these_are_in_the_order_of_their_scores(self) -> None:
        """Two of three nodes vote for a move that the third, at the same depth, finds worse than another."""
        bench = Bench(3)
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, multipv=3)))
        for name in ("n1", "n2"):
            bench.report(name, 9, 30, "7g7f", multipv=1)
            bench.report(name, 9, 20, "2g2f", multipv=2)
        bench.report("n3", 9, 45, "2g2f", "8c8d", multipv=1)
        bench.report("n3", 9, 15, "7g7f", multipv=2)
        bench.report("n3", 9, 12, "6g6f", multipv=3)
        bench.feed(StopSearch(1))
        [decision] = bench.decisions
        assert shown(decision.lines) == [("2g2f", 9, 45), ("7g7f", 9, 30), ("6g6f", 9, 12)]
        assert (decision.move, decision.pv, decision.score) == ("2g2f", ("2g2f", "8c8d"), 45)
        assert decision.agreement == pytest.approx(1 / 3)
        assert len(decision.ballots) == 3

    def test_a_node_that_begins_anew_keeps_its_deep_lines_until_it_has_come_as_deep(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, multipv=2)))
        bench.report("n1", 25, 300, "7g7f", multipv=1)
        bench.report("n1", 25, -500, "2g2f", multipv=2)
        bench.feed(NodeLost("n1", "test"))
        bench.feed(NodeJoined("n1"))
        for depth in (1, 24):
            bench.report("n1", depth, 10, "7g7f", multipv=1)
            bench.report("n1", depth, 5, "6g6f", multipv=2)
            bench.tick(200)
            [progress] = [i for i in bench.out if isinstance(i, Progress)]
            assert shown(progress.lines) == [("7g7f", 25, 300), ("2g2f", 25, -500)], depth
        bench.report("n1", 25, 20, "6g6f", multipv=1)
        bench.report("n1", 25, 7, "7g7f", multipv=2)
        bench.feed(StopSearch(1))
        assert shown(bench.decisions[0].lines) == [("6g6f", 25, 20), ("7g7f", 25, 7)]

    def test_lines_of_another_engine_go_with_it(self) -> None:
        bench = Bench(0)
        bench.feed(NodeJoined("n1", engine="deep"))
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, multipv=2)))
        bench.report("n1", 25, 300, "7g7f", multipv=1)
        bench.feed(NodeLost("n1", "test"))
        bench.feed(NodeJoined("n1", engine="other"))
        bench.report("n1", 6, 10, "2g2f", multipv=1)
        bench.feed(StopSearch(1))
        assert shown(bench.decisions[0].lines) == [("2g2f", 6, 10)]

    def test_the_game_and_the_moves_to_choose_from_reach_every_job(self) -> None:
        bench = Bench(2, fallback=True)
        moves = ("2g2f", "7g7f", "6g6f")
        request = SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=2000, max_moves=320, draw_black=-70, draw_white=9)
        bench.split(replace(request, searchmoves=moves))
        for name in ("n1", "n2", "fallback"):
            job = bench.job(name)
            assert (job.max_moves, job.draw_black, job.draw_white) == (320, -70, 70), name
            assert job.searchmoves
            assert set(job.searchmoves) <= set(moves)
        others = [job for job in bench.jobs.values() if job and job.ignoremoves]
        assert all(set(job.searchmoves) == set(moves) for job in others)


@pytest.mark.usefixtures("warm")
async def test_a_real_searcher_knows_the_move_limit_and_the_value_of_a_draw() -> None:
    """Any next move draws the game: its score is the value of that draw."""
    searcher, heard = LocalSearcher(lambda: NumbaEngine(hash_mb=1), Settings(validate=True)), Heard()
    await searcher.open(heard.listener())
    request = SearchRequest(1, STARTPOS, nodes=300, multipv=2, max_moves=1, draw_black=-1123, draw_white=1077)
    decisions = []
    for searched in (
        request,
        replace(request, search_id=2, moves=("7g7f",), max_moves=2),
        replace(request, search_id=3, max_moves=0),
    ):
        searcher.start(searched)
        decisions.append(await heard.decision(searched.search_id))
    await searcher.close()
    black, white, free = decisions
    assert [line.score for line in black.lines] == [-1123, -1123]
    assert white.score == 1077
    assert free.score not in (-1123, 1077)


def test_a_mate_does_not_end_a_search_for_several_lines() -> None:
    bench = Bench(1)
    bench.feed(StartSearch(SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=3000, multipv=2)))
    bench.report("n1", 9, mate_in(5), "7g7f", multipv=1)
    assert not bench.decisions
    bench.report("n1", 9, 20, "2g2f", multipv=2)
    bench.tick(1000)
    assert [line.pv[0] for line in bench.decisions[0].lines] == ["7g7f", "2g2f"]
