"""Counts of a search: the nodes that it searched, and the wasted part of them, event by event."""

from __future__ import annotations

from dataclasses import replace

from cluster.api import SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeLost, Received
from cluster.coordination.group import WHOLE_ROOT, Assignment
from cluster.coordination.settings import Mode
from cluster.network.messages import Done, Job
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench
from worker.shogi import STARTPOS


class TestWasted:
    def test_a_presearch_counts_for_the_node_whose_ranking_was_taken(self) -> None:
        bench = Bench(3)
        bench.feed(StartSearch(TIMED))
        bench.report("n2", 4, 10, "2g2f")
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(300)
        bench.report("n1", 6, 40, "7g7f")
        bench.report("n2", 7, 20, bench.job("n2").searchmoves[0])
        bench.tick(800)
        decision = bench.decisions[0]
        assert (decision.source, decision.nodes, decision.wasted) == ("split", 500 + 400 + 2 * 80_000, 400)

    def test_a_split_job_without_a_line_is_wasted(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, nodes=5000)))
        bench.report("n1", 5, 30, "7g7f")
        bench.done("n1", 500)
        bench.done("n2", 200)
        bench.report("n1", 6, 40, "7g7f")
        bench.done("n1", 1000)
        bench.done("n2", 300)
        assert [(decision.nodes, decision.wasted) for decision in bench.decisions] == [(1500 + 200 + 300, 500)]

    def test_a_ballot_too_shallow_to_be_counted_is_wasted(self) -> None:
        bench = Bench(settings=replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 12, 30, "7g7f")
        bench.report("n2", 3, 90, "2g2f")
        bench.tick(1000)
        assert [(decision.nodes, decision.wasted) for decision in bench.decisions] == [(200_000, 100_000)]

    def test_what_a_lost_voter_said_still_counts(self) -> None:
        bench = Bench(settings=replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f")
        bench.report("n2", 5, 20, "2g2f")
        bench.feed(NodeLost("n2", "test"))
        bench.tick(1000)
        assert [(decision.nodes, decision.wasted) for decision in bench.decisions] == [(100_000 + 500, 0)]


class TestCounting:
    """The benches' nodes report 100 nodes a millisecond."""

    def test_what_was_searched_since_the_last_report_counts(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(1000)
        assert [decision.nodes for decision in bench.decisions] == [100_000]
        assert [view.nodes for view in bench.decisions[0].fleet] == [100_000]

    def test_no_more_than_was_asked_for(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(replace(TIMED, nodes=2000)))
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(1000)
        assert [decision.nodes for decision in bench.decisions] == [2000]

    def test_a_job_that_was_ended_early_is_counted_when_it_says_how_far_it_came(self) -> None:
        bench = Bench(2)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f")
        bench.report("n2", 4, 20, "7g7f")
        ended = bench.job("n2")
        bench.tick(300)
        assert bench.job("n2") != ended
        for _ in range(2):  # the second one is a mistake
            bench.feed(Received(Done("n2", ended.search_id, ended.job_id, 7000, 300)))
        bench.done("n1", 9000)
        bench.done("n2", 1000)
        bench.feed(StopSearch(1))
        assert [decision.nodes for decision in bench.decisions] == [500 + 9000 + 7000 + 1000]

    def test_behind_the_decision_it_is_logged_what_was_searched_in_all(self) -> None:
        bench = Bench(2, settings=replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(StartSearch(TIMED))
        jobs = [bench.job(node_id) for node_id in ("n1", "n2")]
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(1000)
        bench.feed(Received(Done("n2", jobs[1].search_id, jobs[1].job_id, 9000, 1001)))
        assert not bench.events("searched")
        bench.feed(Received(Done("n1", jobs[0].search_id, jobs[0].job_id, 110_000, 1001)))
        assert bench.events("searched") == [{"search_id": 1, "nodes": 119_000}]

    def test_the_usual_speed_stands_for_the_first_moments(self) -> None:
        assignment = Assignment("n1")
        assignment.give(Job(1, 1, STARTPOS), WHOLE_ROOT, 1000)
        assert assignment.searched(1500, 200_000) == 100_000
        assert assignment.searched(1500, 0) == 0
        assignment.job_nodes, assignment.job_ms = 1000, 1  # far from the truth
        assert assignment.searched(1000, 200_000) == 1000
        assert 100_000 < assignment.searched(1500, 200_000) < 110_000
        assignment.done = True
        assert assignment.searched(1500, 200_000) == 1000
