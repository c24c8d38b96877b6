"""The playoff after a vote, event by event: its start, its nodes, its winner, and its failures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cluster.api import Ballot, PonderSearch, Progress, RetimeSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost
from cluster.coordination.playoff import Nominee, Playoff, nominees
from cluster.coordination.settings import Mode, PlayoffSettings, Settings
from cluster.split.tree import TreeLine
from tests.cluster.coordination.bench import TIMED, Bench
from worker.engine import Bound
from worker.score import mate_in
from worker.shogi import STARTPOS

SETTINGS = Settings(Mode.CONSULT, validate=True, playoff=PlayoffSettings(share=0.3, lead=1.0, min_ms=50))


def line(move: str, depth: int, score: int) -> TreeLine:
    return TreeLine(depth, score, Bound.EXACT, (move,))


def voted(nodes: int = 4, settings: Settings = SETTINGS, *, agree: bool = False) -> Bench:
    """Every node has voted at depth 10: the last one for 2g2f unless it agrees with the others' 7g7f."""
    bench = Bench(nodes, settings)
    bench.feed(StartSearch(TIMED))
    for number in range(1, nodes + 1):
        bench.report(f"n{number}", 10, 30, "7g7f" if agree or number < nodes else "2g2f")
    return bench


def searched(bench: Bench) -> Counter[tuple[str, ...]]:
    """The number of nodes that search each set of root moves."""
    return Counter(job.searchmoves for job in bench.jobs.values() if job is not None)


class TestPlayoff:
    def test_the_last_part_of_the_time_goes_to_the_moves_voted_for(self) -> None:
        bench = voted()
        assert bench.coordinator.wake_ms(bench.now) == bench.now + 100  # a progress message
        bench.tick(699)
        assert searched(bench) == {(): 4}
        bench.tick(1)
        assert bench.events("playoff")[0]["votes"] == {"7g7f": 3, "2g2f": 1}
        assert searched(bench) == {("7g7f",): 2, ("2g2f",): 2}

    def test_the_best_mean_score_wins_and_the_ballots_stay(self) -> None:
        bench = voted()
        bench.tick(700)
        for number in (1, 2, 3, 4):
            move = bench.job(f"n{number}").searchmoves[0]
            bench.report(f"n{number}", 12, {"7g7f": 20, "2g2f": 25}[move], move)
        assert bench.coordinator.run is not None
        assert line("2g2f", 12, 25) in list(bench.coordinator.run.search.lines()), "pondering starts from it"
        bench.tick(300)
        decision = bench.decisions[0]
        assert (decision.move, decision.source, decision.depth, decision.score) == ("2g2f", "playoff", 12, 25)
        assert [ballot.move for ballot in decision.ballots] == ["7g7f"] * 3 + ["2g2f"]
        assert decision.agreement == 0.25
        assert decision.is_of_nodes
        assert bench.events("played_off")[0]["scores"] == {"7g7f": 20, "2g2f": 25}
        assert decision.wasted == 0

    def test_a_margin_is_the_votes(self) -> None:
        bench = voted(2, replace(SETTINGS, playoff=replace(SETTINGS.playoff, margin=10)))
        bench.tick(700)
        lead = next(node_id for node_id in ("n1", "n2") if bench.job(node_id).searchmoves == ("7g7f",))
        other = {"n1": "n2", "n2": "n1"}[lead]
        bench.report(lead, 12, 20, "7g7f")
        bench.report(other, 12, 30, "2g2f")
        bench.tick(100)
        assert next(item for item in bench.out if isinstance(item, Progress)).move == "7g7f"
        bench.report(other, 13, 31, "2g2f")
        bench.tick(200)
        assert bench.decisions[0].move == "2g2f"

    def test_shallow_scores_overrule_no_vote(self) -> None:
        bench = voted()
        bench.tick(700)
        for number in (1, 2, 3, 4):
            move = bench.job(f"n{number}").searchmoves[0]
            bench.report(f"n{number}", 8, {"7g7f": -500, "2g2f": 900}[move], move)
        bench.tick(300)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "vote")

    def test_a_mate_that_is_proved_in_it_ends_the_search(self) -> None:
        bench = voted(2)
        bench.tick(700)
        lead = next(node_id for node_id in ("n1", "n2") if bench.job(node_id).searchmoves == ("7g7f",))
        other = {"n1": "n2", "n2": "n1"}[lead]
        bench.report(lead, 12, 500, "7g7f")
        bench.report(other, 5, mate_in(5), "2g2f", "8c8d", "2f2e", "8d8e", "2e2d")
        assert [decision.move for decision in bench.decisions] == ["2g2f"]

    @pytest.mark.parametrize(
        ("settings", "request_"),
        [
            (replace(SETTINGS, playoff=PlayoffSettings()), TIMED),
            (SETTINGS, replace(TIMED, soft_ms=100)),
            (SETTINGS, replace(TIMED, multipv=2)),
            (SETTINGS, SearchRequest(1, STARTPOS, nodes=10**6)),
        ],
        ids=["off", "too short", "several lines", "no time"],
    )
    def test_without_it(self, settings: Settings, request_: SearchRequest) -> None:
        bench = Bench(2, settings)
        bench.feed(StartSearch(request_))
        bench.report("n1", 5, 30, "7g7f")
        bench.report("n2", 5, 30, "2g2f")
        bench.tick((request_.soft_ms or 1000) - 25)
        assert searched(bench) == {(): 2}

    def test_a_voter_that_agrees_has_none_until_it_disagrees(self) -> None:
        bench = voted(agree=True)
        bench.tick(800)
        assert searched(bench) == {(): 4}
        bench.report("n2", 11, 40, "2g2f")
        assert searched(bench) == {("7g7f",): 2, ("2g2f",): 2}

    def test_an_engine_that_searches_no_part_of_the_moves_goes_on(self) -> None:
        bench = Bench(2, SETTINGS)
        bench.feed(NodeJoined("x", "other", can_split=False))
        bench.feed(StartSearch(TIMED))
        for node_id, move in (("n1", "7g7f"), ("n2", "7g7f"), ("x", "2g2f")):
            bench.report(node_id, 10, 30, move)
        bench.tick(700)
        assert searched(bench) == {("7g7f",): 1, ("2g2f",): 1, (): 1}

    def test_a_much_worse_move_is_not_nominated(self) -> None:
        bench = voted(8, replace(SETTINGS, playoff=replace(SETTINGS.playoff, lead=0.25)))
        bench.tick(800)
        assert searched(bench) == {(): 8}
        for number in (5, 6):
            bench.report(f"n{number}", 11, 30, "2g2f")
        assert bench.events("playoff")[0]["votes"] == {"7g7f": 5, "2g2f": 3}
        assert searched(bench) == {("7g7f",): 4, ("2g2f",): 4}


class TestFaults:
    def test_the_leading_node_dies(self) -> None:
        bench = voted()
        bench.tick(700)
        places_ = {f"n{number}": bench.job(f"n{number}").searchmoves[0] for number in (1, 2, 3, 4)}
        first, second = (node_id for node_id, move in places_.items() if move == "7g7f")
        bench.report(first, 12, 20, "7g7f")
        bench.feed(NodeLost(first, "test"))
        bench.jobs[first] = None
        assert searched(bench) == {("7g7f",): 1, ("2g2f",): 2}
        bench.feed(NodeLost(second, "test"))
        bench.jobs[second] = None
        assert searched(bench) == {("7g7f",): 1, ("2g2f",): 1}, "nobody searches the vote's own move"
        left = [node_id for node_id, job in bench.jobs.items() if job is not None]
        for node_id in left:
            move = bench.job(node_id).searchmoves[0]
            bench.report(node_id, 12, {"7g7f": 20, "2g2f": 10}[move], move)
        bench.tick(300)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "playoff")

    def test_all_die(self) -> None:
        bench = voted()
        bench.tick(700)
        for number in (1, 2, 3, 4):
            bench.feed(NodeLost(f"n{number}", "test"))
        bench.tick(300)
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "vote")

    def test_a_node_that_comes_back_or_joins_takes_part(self) -> None:
        bench = voted(2, replace(SETTINGS, min_redeal_ms=0))
        bench.tick(700)
        bench.feed(NodeLost("n1", "test"))
        bench.jobs["n1"] = None
        bench.feed(NodeJoined("n1"))
        bench.feed(NodeJoined("n3"))
        assert searched(bench) == {("7g7f",): 2, ("2g2f",): 1}

    def test_a_node_that_fails_is_replaced(self) -> None:
        bench = voted()
        bench.tick(700)
        failed = next(node_id for node_id in bench.jobs if bench.job(node_id).searchmoves == ("2g2f",))
        bench.done(failed, error="no such move")
        bench.jobs[failed] = None
        assert searched(bench) == {("7g7f",): 2, ("2g2f",): 1}

    def test_a_stop_takes_the_best_known_move(self) -> None:
        bench = voted()
        bench.tick(700)
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].move, bench.decisions[0].source) == ("7g7f", "vote")

    def test_another_soft_time_moves_its_begin(self) -> None:
        bench = voted()
        bench.feed(RetimeSearch(1, 2000))
        bench.tick(1399)
        assert searched(bench) == {(): 4}
        bench.tick(1)
        assert searched(bench) == {("7g7f",): 2, ("2g2f",): 2}

    def test_it_is_held_after_a_ponder_hit(self) -> None:
        bench = Bench(2, SETTINGS)
        bench.feed(PonderSearch(SearchRequest(1, STARTPOS, ("7g7f",)), "3c3d"))
        pondered = [node_id for node_id, job in bench.jobs.items() if job is not None and job.moves[-1:] == ("3c3d",)]
        assert len(pondered) == 2
        bench.report("n1", 10, 30, "2g2f")
        bench.report("n2", 10, 30, "6g6f")
        bench.tick(60_000)
        assert not bench.events("playoff")
        bench.feed(StartSearch(SearchRequest(2, STARTPOS, ("7g7f", "3c3d"), soft_ms=1000, hard_ms=3000)))
        bench.tick(699)
        assert searched(bench) == {(): 2}
        bench.tick(1)
        assert searched(bench) == {("2g2f",): 1, ("6g6f",): 1}


class TestRules:
    def test_nominees(self) -> None:
        ballots = [
            Ballot(voter, line(move, depth, score), 100, 1)
            for voter, move, depth, score in (
                ("a", "7g7f", 10, 5),
                ("b", "2g2f", 11, 9),
                ("c", "5g5f", 12, 7),
                ("d", "5g5f", 11, 8),
                ("e", "6g6f", 11, 70),
            )
        ]
        found = nominees(ballots, "7g7f", PlayoffSettings(lead=1.0, moves=3))
        assert [(one.move, one.votes) for one in found] == [("7g7f", 1), ("5g5f", 2), ("6g6f", 1)]
        assert found[1].line.depth == 12
        assert [one.move for one in nominees(ballots, "5g5f", PlayoffSettings(lead=0.1))] == ["5g5f"]
        assert len(nominees(ballots, "5g5f", PlayoffSettings(lead=0.25))) == 4
        assert [one.move for one in nominees(ballots, "6g6f", PlayoffSettings(lead=0.1))] == ["6g6f", "5g5f"]

    def test_a_node_that_can_stay_stays(self) -> None:
        a, b = Nominee("7g7f", 3, line("7g7f", 10, 0)), Nominee("2g2f", 1, line("2g2f", 10, 0))
        dealt = Playoff((a, b)).deal({"n1": "2g2f", "n2": "2g2f", "n3": None, "n4": "7g7f"})
        assert {node_id: one.move for node_id, one in dealt.items()} == {
            "n1": "2g2f",
            "n2": "2g2f",
            "n3": "7g7f",
            "n4": "7g7f",
        }

    def test_a_verdict_needs_every_nominee(self) -> None:
        a, b = Nominee("7g7f", 3, line("7g7f", 12, 0)), Nominee("2g2f", 1, line("2g2f", 10, 0))
        playoff = Playoff((a, b))
        playoff.take_line("n1", line("7g7f", 9, 5))
        assert playoff.verdict(0) is None
        playoff.take_line("n2", line("2g2f", 8, 50))
        assert playoff.verdict(0) is None, "depth 9 is the least that counts"
        playoff.take_line("n2", line("2g2f", 9, 50))
        assert playoff.verdict(0) == line("2g2f", 9, 50)
        playoff.take_line("n3", line("2g2f", 13, -10))
        assert playoff.verdict(0) == line("7g7f", 9, 5), "much shallower lines no longer count"


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="share"):
        PlayoffSettings(share=1.5)
