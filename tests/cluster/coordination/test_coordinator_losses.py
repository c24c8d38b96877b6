"""The coordinator at the hard deadline and after the loss of nodes, event by event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import StartSearch, StopSearch
from cluster.coordination.events import FALLBACK, NodeJoined, NodeLost
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench


class TestDeadline:
    def test_silent_nodes_cannot_delay_the_move(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        bench.tick(2989)
        assert not bench.decisions
        bench.tick(1)
        decision = bench.decisions[0]
        assert (decision.source, decision.score, decision.depth) == ("none", None, 0)

    def test_the_fallback_decides_only_when_no_node_has_an_answer(self) -> None:
        bench = Bench(fallback=True)
        bench.feed(StartSearch(TIMED))
        bench.report(FALLBACK, 9, 70, "2g2f")
        bench.report("n1", 1, 3, "7g7f")
        bench.tick(1000)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "vote")
        assert bench.jobs[FALLBACK] is None

        bench = Bench(fallback=True)
        bench.feed(StartSearch(TIMED))
        bench.report(FALLBACK, 9, 70, "2g2f")
        bench.tick(1000)
        assert not bench.decisions
        assert bench.coordinator.wake_ms(bench.now) == bench.now + 250
        bench.tick(250)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("2g2f", "fallback")

    def test_the_fallback_waits_for_the_nodes_beside_it(self) -> None:
        bench = Bench(0, replace(SETTINGS, fallback_nodes=5000), fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(TIMED))
        bench.tick(49)
        assert FALLBACK not in bench.jobs
        assert bench.coordinator.wake_ms(bench.now) == bench.now + 1
        bench.tick(1)
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (5000, True)
        bench.done(FALLBACK, 5000)
        bench.feed(NodeLost("n1", "test"))
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (None, False)

    def test_the_fallback_does_nothing_if_the_nodes_beside_it_answer(self) -> None:
        bench = Bench(0, fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 1, 3, "7g7f")
        bench.tick(50)
        bench.feed(NodeJoined("n2", beside_master=True))
        bench.tick(949)
        assert FALLBACK not in bench.jobs
        bench.tick(1)
        assert bench.decisions[0].move == "7g7f"

    def test_a_fallback_that_was_not_needed_begins_when_the_nodes_beside_it_are_gone(self) -> None:
        bench = Bench(0, fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 1, 3, "7g7f")
        bench.tick(100)
        bench.feed(NodeLost("n1", "test"))
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (None, False)

    @pytest.mark.parametrize("left", [0, 1])
    def test_the_fallback_waits_no_longer_after_the_last_node_beside_it(self, left: int) -> None:
        bench = Bench(left, fallback=True)
        bench.feed(NodeJoined("beside", beside_master=True))
        bench.feed(StartSearch(TIMED))
        bench.feed(NodeLost("beside", "test"), 10)
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (None, bool(left))
        begun = bench.job(FALLBACK)
        bench.tick(100)
        assert bench.job(FALLBACK) == begun

    def test_the_fallback_has_half_of_a_short_search(self) -> None:
        bench = Bench(0, fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(replace(TIMED, soft_ms=20)))
        bench.tick(9)
        assert FALLBACK not in bench.jobs
        bench.tick(1)
        bench.report(FALLBACK, 3, 10, "2g2f")
        bench.tick(260)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("2g2f", "fallback")

    def test_the_fallback_begins_at_a_stop(self) -> None:
        bench = Bench(0, fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(replace(TIMED, soft_ms=None, hard_ms=None)))
        bench.feed(StopSearch(1), 5)
        bench.report(FALLBACK, 3, 10, "2g2f")
        bench.tick(100)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("2g2f", "fallback")

    def test_a_node_without_an_answer_leaves_it_to_the_fallback(self) -> None:
        bench = Bench(0, fallback=True)
        bench.feed(NodeJoined("n1", beside_master=True))
        bench.feed(StartSearch(replace(TIMED, soft_ms=None, hard_ms=None, depth=4)))
        bench.done("n1")
        assert not bench.decisions
        bench.tick(50)
        bench.report(FALLBACK, 4, 10, "2g2f")
        bench.done(FALLBACK)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("2g2f", "fallback")

    def test_a_fallback_on_a_machine_without_nodes_searches_all_the_time(self) -> None:
        bench = Bench(1, replace(SETTINGS, fallback_nodes=5000), fallback=True)
        bench.feed(StartSearch(TIMED))
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (None, True)
        bench.feed(NodeJoined("n2", beside_master=True))
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (5000, True)
        bench.done(FALLBACK, 5000)
        bench.feed(NodeLost("n2", "test"))
        assert (bench.job(FALLBACK).nodes, bench.job(FALLBACK).background) == (None, True)
        again = bench.job(FALLBACK)
        bench.feed(NodeJoined("n3"))
        assert bench.job(FALLBACK) == again

    def test_a_fallback_that_rests_goes_on_only_if_it_may_search_more(self) -> None:
        bench = Bench(0, replace(SETTINGS, fallback_nodes=5000), fallback=True)
        for node_id in ("n1", "n2"):
            bench.feed(NodeJoined(node_id, beside_master=True))
        bench.feed(StartSearch(replace(TIMED, nodes=4000)))
        bench.tick(50)
        first = bench.job(FALLBACK)
        assert first.nodes == 4000
        bench.done(FALLBACK, 4000)
        bench.feed(NodeLost("n1", "test"))
        bench.feed(NodeLost("n2", "test"))
        assert bench.job(FALLBACK) == first

    @pytest.mark.parametrize("beside", [False, True])
    def test_a_fallback_that_searches_leaves_the_background_when_the_last_node_goes(self, beside: bool) -> None:
        bench = Bench(0, replace(SETTINGS, fallback_nodes=5000), fallback=True)
        for node_id in ("n1", "n2"):
            bench.feed(NodeJoined(node_id, beside_master=beside))
        bench.feed(StartSearch(TIMED))
        bench.tick(50)
        first = bench.job(FALLBACK)
        bench.feed(NodeLost("n1", "test"))
        assert bench.job(FALLBACK) == first
        bench.feed(NodeLost("n2", "test"))
        alone = bench.job(FALLBACK)
        assert (alone.nodes, alone.background) == (None, False)
        assert alone.job_id > first.job_id
        bench.feed(NodeJoined("n2"))
        assert bench.job(FALLBACK).background
        bench.report(FALLBACK, 3, 10, "2g2f")
        bench.feed(NodeLost("n2", "test"))
        assert not bench.job(FALLBACK).background
        bench.tick(1500)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("2g2f", "fallback")


ROOK_TO_TAKE = "4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"
"""The rook on 5d can be taken by the rook on 5g, with check; the first legal move is another one."""


class TestNobodyHasAnAnswer:
    def test_the_best_move_by_material_goes_out(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(replace(TIMED, sfen=ROOK_TO_TAKE)))
        bench.tick(2990)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("5g5d", "none")
        bench.feed(StartSearch(replace(TIMED, search_id=2, sfen=ROOK_TO_TAKE, searchmoves=("6i6h", "6i7h"))))
        bench.tick(2990)
        assert bench.decisions[1].move in ("6i6h", "6i7h")

    @pytest.mark.parametrize("who", ["n1", FALLBACK])
    def test_a_lost_nodes_report_still_counts(self, who: str) -> None:
        bench = Bench(1, fallback=True)
        bench.feed(StartSearch(TIMED))
        bench.report(who, 1, -50, "6g6f")
        bench.feed(NodeLost(who, "test"))
        bench.tick(2990)
        assert bench.decisions[0].move == "6g6f"


class TestLoss:
    def test_a_vote_outlives_its_node(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 24, 40, "7g7f", "3c3d")
        bench.feed(NodeLost("n1", "died"))
        bench.feed(NodeJoined("n1"), 100)
        bench.report("n1", 1, 90, "2g2f")
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("7g7f", 24)

    def test_a_node_that_comes_as_deep_again_votes_anew(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 40, "7g7f", "3c3d")
        bench.feed(NodeLost("n1", "died"))
        bench.feed(NodeJoined("n1"), 100)
        bench.report("n1", 5, 30, "2g2f")
        bench.report("n1", 4, 20, "5g5f")  # its last report, at any depth
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("5g5f", 4)

    def test_a_node_that_comes_back_with_another_engine_votes_anew(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 24, 40, "7g7f", "3c3d")
        bench.feed(NodeLost("n1", "died"))
        bench.feed(NodeJoined("n1", engine="another"), 100)
        bench.report("n1", 1, 90, "2g2f")
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("2g2f", 1)

    def test_an_engine_that_cannot_split_keeps_its_vote_when_it_comes_back(self) -> None:
        bench = Bench(0, fallback=True)
        gps = NodeJoined("gps", "gpsshogi", can_split=False)
        bench.feed(gps)
        bench.feed(StartSearch(TIMED))
        bench.report("gps", 9, 40, "7g7f")
        bench.feed(NodeLost("gps", "not heard of"), 700)
        bench.feed(gps, 10)
        bench.tick(290)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "vote")

    def test_the_leaf_of_a_lost_node_is_dealt_anew_at_once_and_its_line_stays(self) -> None:
        bench = Bench(3)
        bench.feed(StartSearch(TIMED))
        for rank, move in enumerate(("7g7f", "2g2f"), 1):
            bench.report("n1", 5, 40 - rank, move, multipv=rank)
        bench.tick(300)
        bench.report("n1", 12, 35, "7g7f", "8c8d")
        bench.feed(NodeLost("n1", "died"))
        assert bench.job("n2").searchmoves == ("7g7f",)
        assert bench.job("n3").ignoremoves == ("7g7f",)
        bench.report("n2", 3, -500, "7g7f")
        bench.tick(700)
        assert (bench.decisions[0].score, bench.decisions[0].pv) == (35, ("7g7f", "8c8d"))

    def test_all_lost_the_last_lines_stay_and_a_node_that_comes_back_is_used(self) -> None:
        bench = Bench()
        bench.split()
        bench.report("n2", 9, 300, "2g2f")
        bench.feed(NodeLost("n1", "died"))
        bench.feed(NodeLost("n2", "died"))
        assert not bench.decisions
        bench.jobs.clear()
        bench.feed(NodeJoined("n1"), 100)
        assert bench.job("n1").searchmoves == ()
        bench.feed(NodeJoined("n2"), 50)
        assert bench.job("n1").searchmoves == ("2g2f",)
        bench.tick(550)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 300)

    def test_a_node_that_comes_late_waits_for_the_next_search(self) -> None:
        bench = Bench()
        bench.split()
        bench.feed(NodeJoined("n3"), 300)
        assert "n3" not in bench.jobs

    def test_leaves_that_stay_are_not_disturbed(self) -> None:
        bench = Bench(2)
        bench.split()
        before = bench.job("n2")
        bench.feed(NodeJoined("n3"))
        assert bench.job("n2") is before
        assert bench.job("n2").ignoremoves == ("7g7f",)
        assert (bench.job("n1").moves, bench.job("n1").searchmoves) == (("7g7f",), ("3c3d",))
        assert (bench.job("n3").moves, bench.job("n3").ignoremoves) == (("7g7f",), ("3c3d",))

    def test_a_node_lost_in_the_presearch_leaves_a_consultation(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        bench.report("n2", 4, 11, "2g2f")
        bench.feed(NodeLost("n1", "died"))
        bench.tick(1000)
        assert (bench.decisions[0].source, bench.decisions[0].move) == ("vote", "2g2f")

    def test_a_node_whose_engine_fails_gets_no_other_job_of_that_search(self) -> None:
        bench = Bench()
        bench.split()
        bench.done("n1", 0, "out of memory")
        assert bench.events("job_failed")[0]["error"] == "out of memory"
        assert bench.job("n2").ignoremoves == ()
        bench.feed(StopSearch(1))
        bench.feed(StartSearch(replace(TIMED, search_id=2)))
        assert bench.job("n1").search_id == 2

    def test_a_node_that_began_anew_is_given_its_work_again(self) -> None:
        bench = Bench()
        bench.split()
        before = bench.job("n1").job_id
        bench.feed(NodeJoined("n1"))
        assert bench.job("n1").job_id > before
