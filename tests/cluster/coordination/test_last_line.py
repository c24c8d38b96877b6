"""The line that a search over the fleet ends with: exact, of the move that is played, however its nodes were cut."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from benchmarks.playouts import positions
from cluster.api import SearchRequest, StartSearch
from cluster.coordination.settings import Mode, Settings
from cluster.drivers.local_driver import LocalSearcher
from master.player.game import comment_on
from master.usi.report import info_lines
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench
from tests.cluster.heard import Heard
from worker.engine import Bound
from worker.score import is_mate, mate_in
from worker.search.bench import POSITIONS
from worker.search.engine import NumbaEngine
from worker.shogi import Position

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
    assert [ballot.score for ballot in decision.ballots] == [score, score], "the vote counts what is known"


def test_another_nodes_exact_line_serves_where_the_voter_has_none() -> None:
    bench = voting(3)
    bench.report("n1", 10, 25, *WHOLE)
    bench.report("n1", 11, 60, "2g2f", "8c8d", bound=Bound.LOWER)
    bench.report("n2", 11, 60, "2g2f", "8c8d", bound=Bound.LOWER)
    bench.report("n3", 9, 55, "2g2f", "8c8d", "2f2e")
    bench.tick(1000)
    line = bench.decisions[0].lines[0]
    assert (line.depth, line.score, line.bound, len(line.pv)) == (9, 55, Bound.EXACT, 3)


def test_the_last_exact_line_of_a_job_does_not_lessen_its_vote() -> None:
    """A node that ends in a bound reports its exact line once more, which is older, and the vote goes by depth."""
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
    for assignment in bench.coordinator._run.search.assignments.values():  # type: ignore[union-attr]
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
def test_twenty_positions_through_a_real_searcher(multipv: int) -> None:
    """Wherever the limit falls: by nodes, of which about a third fall within a fail-high or a fail-low."""

    async def play() -> None:
        searcher, heard = LocalSearcher(lambda: NumbaEngine(hash_mb=8), Settings(validate=True)), Heard()
        await searcher.open(heard.listener())
        found = [*POSITIONS, *(position.sfen() for position in positions(11, 15))]
        for number, sfen in enumerate(found, 1):
            searcher.start(SearchRequest(number, sfen, nodes=20_000, multipv=multipv))
            decision = await heard.decision(number)
            assert decision.pv[0] == decision.move
            for line in decision.lines:
                assert line.bound is Bound.EXACT, (sfen, line)
        await searcher.close()

    asyncio.run(play())
