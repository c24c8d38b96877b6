"""The last line of a fleet search: exact, for the move that is played, at any point where its nodes were stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.playouts import positions
from cluster.api import SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeLost, Received
from cluster.coordination.group import WHOLE_ROOT, Assignment
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.local_driver import LocalSearcher
from cluster.network.messages import Done, Job
from master.player.game import comment_on
from master.usi.report import info_lines
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench
from tests.cluster.heard import Heard
from worker.engine import Bound
from worker.score import is_mate, mate_in
from worker.search.bench import POSITIONS
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS, Position

VOTING = replace(SETTINGS, mode=Mode.CONSULT)
WHOLE = ("7g7f", "3c3d", "2g2f", "8c8d")


def voting(nodes: int = 2, **more: object) -> Bench:
    bench = Bench(nodes, VOTING)
    bench.feed(StartSearch(replace(TIMED, **more)))  # type: ignore[arg-type]
    return bench


@pytest.mark.parametrize(("bound", "score"), [(Bound.UPPER, -40), (Bound.LOWER, 90)])
def test_a_bound_gives_way_to_the_last_exact_line(bound: Bound, score: int) -> None:
    bench = voting()
    for node in ("n1", "n2"):
        bench.report(node, 10, 20, *WHOLE)
        bench.report(node, 11, score, *WHOLE[:2], bound=bound)
    bench.tick(1000)
    decision = bench.decisions[0]
    line = decision.lines[0]
    assert (decision.move, line.depth, line.score, line.bound, line.pv) == ("7g7f", 10, 20, Bound.EXACT, WHOLE)
    assert [ballot.score for ballot in decision.ballots] == [score, score], "the vote counts the known scores"


def test_another_nodes_exact_line_serves_if_the_voter_has_none() -> None:
    bench = voting(3)
    bench.report("n1", 10, 25, *WHOLE)
    bench.report("n1", 11, 60, "2g2f", "8c8d", bound=Bound.LOWER)
    bench.report("n2", 11, 60, "2g2f", "8c8d", bound=Bound.LOWER)
    bench.report("n3", 9, 55, "2g2f", "8c8d", "2f2e")
    bench.tick(1000)
    line = bench.decisions[0].lines[0]
    assert (line.depth, line.score, line.bound, len(line.pv)) == (9, 55, Bound.EXACT, 3)


def test_the_last_exact_line_of_a_job_does_not_lessen_its_vote() -> None:
    """A node whose last line is a bound reports its exact line once more. That line is older, and the vote goes by
    depth."""
    bench = voting(nodes=1000)
    for node in ("n1", "n2"):
        bench.report(node, 12, 30, *WHOLE)
        bench.report(node, 18, 45, *WHOLE[:1], bound=Bound.LOWER)
        bench.report(node, 12, 30, *WHOLE)
        bench.done(node)
    bench.tick(1000)
    decision = bench.decisions[0]
    assert [ballot.depth for ballot in decision.ballots] == [18, 18]
    assert (decision.depth, decision.score, decision.lines[0].bound) == (12, 30, Bound.EXACT)


def test_a_proven_mate_is_not_given_back() -> None:
    bench = voting()
    bench.report("n1", 10, 20, *WHOLE)
    bench.report("n1", 11, mate_in(7), *WHOLE[:2], bound=Bound.LOWER)
    bench.tick(1000)
    assert is_mate(bench.decisions[0].score or 0)


def test_every_line_of_several_is_exact() -> None:
    bench = voting(1, multipv=2)
    bench.report("n1", 10, 30, *WHOLE)
    bench.report("n1", 10, 20, "2g2f", "8c8d", "2f2e", multipv=2)
    bench.report("n1", 11, 15, *WHOLE[:1], bound=Bound.UPPER)
    bench.tick(1000)
    lines = bench.decisions[0].lines
    assert [line.bound for line in lines] == [Bound.EXACT] * 2
    assert {line.pv[0]: line.score for line in lines} == {"7g7f": 30, "2g2f": 20}


def test_the_leaf_of_one_reply_says_nothing_exact_of_its_move() -> None:
    bench = Bench(3)
    bench.feed(StartSearch(TIMED))
    for node, move, score in (("n1", "7g7f", 30), ("n2", "2g2f", 10)):
        bench.report(node, 5, score, move, "3c3d")
    bench.tick(300)
    for assignment in bench.coordinator.run.search.assignments.values():  # type: ignore[union-attr]
        assert all(line.bound is Bound.EXACT for line in assignment.exact.values())
        if assignment.leaf.path:
            bench.report(assignment.node_id, 9, -500, next(iter(assignment.leaf.moves), "8c8d"))
            assert all(line.score != 500 for line in assignment.exact.values())


def test_a_bound_is_shown_and_recorded_as_nothing_else() -> None:
    bench = voting()
    bench.report("n1", 11, 90, *WHOLE[:2], bound=Bound.LOWER)
    bench.tick(1000)
    decision = bench.decisions[0]
    assert info_lines(decision.lines, 1, 1)[0].split(" nodes ")[0].endswith("score cp 90 lowerbound")
    start = Position.startpos()
    assert comment_on(decision, start, start.parse_usi("7g7f")).score is None
    bench = voting()
    bench.report("n1", 11, 90, *WHOLE)
    bench.tick(1000)
    assert comment_on(bench.decisions[0], start, start.parse_usi("7g7f")).score == 90


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("multipv", [1, 3])
async def test_positions_through_a_real_searcher(multipv: int) -> None:
    """At any node limit; about a third of the limits fall inside a fail-high or a fail-low."""
    searcher, heard = LocalSearcher(lambda: NumbaEngine(hash_mb=8), Settings(validate=True)), Heard()
    await searcher.open(heard.listener())
    found = [*POSITIONS, *(position.sfen() for position in positions(11, 5))]
    for number, sfen in enumerate(found, 1):
        searcher.start(SearchRequest(number, sfen, nodes=10_000, multipv=multipv))
        decision = await heard.decision(number)
        assert decision.pv[0] == decision.move
        for line in decision.lines:
            assert line.bound is Bound.EXACT, (sfen, line)
    await searcher.close()


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

    def test_a_lost_voters_ballot_still_counts(self) -> None:
        bench = Bench(settings=replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f")
        bench.report("n2", 5, 20, "2g2f")
        bench.feed(NodeLost("n2", "test"))
        bench.tick(1000)
        assert [(decision.nodes, decision.wasted) for decision in bench.decisions] == [(100_000 + 500, 0)]


class TestCounting:
    """The bench's nodes report 100 nodes a millisecond."""

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

    def test_after_the_decision_the_total_of_the_search_is_logged(self) -> None:
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
