"""The speed of nodes, and the choice of those that can share a tree."""

from __future__ import annotations

import pytest

from cluster.api import SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined
from cluster.coordination.roster import Roster, speed_class
from cluster.coordination.settings import Mode, Settings
from tests.cluster.coordination.bench import Bench
from worker.shogi import STARTPOS


def roster(*facts: NodeJoined) -> Roster:
    found = Roster()
    for fact in facts:
        found.join(fact)
    return found


class TestSpeeds:
    def test_a_nodes_own_speed_counts_until_it_is_measured(self) -> None:
        nodes = roster(NodeJoined("a", nps=100), NodeJoined("b", nps=200), NodeJoined("c", nps=400))
        assert nodes.speeds == {"a": 0.5, "b": 1.0, "c": 2.0}
        nodes.measured("a", nodes=800, time_ms=1000)
        assert nodes.speeds == {"a": 2.0, "b": 0.5, "c": 1.0}

    def test_the_median_of_the_last_searches(self) -> None:
        nodes = roster(NodeJoined("a", nps=1000), NodeJoined("b", nps=1000), NodeJoined("c", nps=1000))
        for nps in (500, 90_000, 500, 500):
            nodes.measured("a", nps, 1000)
        assert nodes.speeds["a"] == 0.5
        for _ in range(9):
            nodes.measured("a", 2000, 1000)
        assert nodes.speeds["a"] == 2.0

    def test_jobs_that_say_nothing(self) -> None:
        nodes = roster(NodeJoined("a", nps=1000), NodeJoined("b", nps=1000))
        nodes.measured("a", 1, 19)
        nodes.measured("a", 0, 1000)
        nodes.measured("stranger", 100, 1000)
        assert nodes.speeds == {"a": 1.0, "b": 1.0}

    def test_other_engines_count_in_their_own_way(self) -> None:
        own = [NodeJoined("a", "gougi", nps=600_000), NodeJoined("b", "gougi", nps=300_000)]
        nodes = roster(*own, NodeJoined("c", "gpsshogi", can_split=False, nps=60_000))
        assert nodes.speeds == pytest.approx({"a": 4 / 3, "b": 2 / 3, "c": 1.0})
        nodes.leave("b")
        assert nodes.speeds == {"a": 1.0, "c": 1.0}

    def test_a_vote_weighs_the_square_root_of_the_speed(self) -> None:
        known = (("a", 100), ("b", 75), ("c", 130), ("d", 400), ("e", 20), ("f", 0), ("g", 100))
        nodes = roster(*(NodeJoined(node_id, nps=nps) for node_id, nps in known))
        assert {node_id: nodes.weight(node_id) ** 2 for node_id in nodes} == pytest.approx(
            {"a": 1, "b": 1, "c": 1, "d": 4, "e": 1 / 4, "f": 1, "g": 1}
        )
        assert nodes.weight("gone") == 1

    def test_speeds_are_alike_within_a_quarter(self) -> None:
        assert speed_class(1.05) == speed_class(0.95) == 0
        assert speed_class(2.0) > speed_class(1.3) > 0 > speed_class(0.7)
        assert speed_class(0.0) < speed_class(0.01)


def searching(settings: Settings, *facts: NodeJoined) -> Bench:
    """A search by these nodes."""
    bench = Bench(0, settings)
    for fact in facts:
        bench.feed(fact)
    bench.feed(StartSearch(SearchRequest(1, STARTPOS, soft_ms=5000, hard_ms=9000)))
    return bench


def ranked(bench: Bench) -> None:
    """Our own nodes rank three moves."""
    for rank, move in enumerate(("7g7f", "2g2f", "5g5f"), 1):
        for node in OWN:
            bench.report(node.node_id, 8, 50 - rank, move, multipv=rank)


USI = NodeJoined("usi", "gpsshogi", can_split=False)
OWN = [NodeJoined(f"n{number}", "gougi", nps=nps) for number, nps in enumerate((100, 100, 400, 100))]


@pytest.mark.parametrize("mode", [Mode.SPLIT, Mode.TIERS])
def test_a_node_that_cannot_split_searches_whole_and_votes(mode: Mode) -> None:
    fleet = searching(Settings(mode=mode, groups=2, root_share=0, validate=True), USI, *OWN)
    assert fleet.job("usi").multipv == 1
    assert all(fleet.job(node.node_id).multipv > 1 for node in OWN) or mode is Mode.TIERS
    ranked(fleet)
    fleet.report("usi", 5, 300, "2g2f")
    fleet.tick(600)
    assert not fleet.job("usi").searchmoves
    assert not fleet.job("usi").ignoremoves
    assert any(fleet.job(node.node_id).searchmoves for node in OWN)
    fleet.feed(StopSearch(1), 700)
    ballots = {ballot.voter: ballot.move for ballot in fleet.decisions[0].ballots}
    assert ballots["usi"] == "2g2f"
    assert len(ballots) == (2 if mode is Mode.SPLIT else 3)


def test_a_voter_of_another_engine_is_heard_though_it_counts_fewer_plies() -> None:
    fleet = searching(Settings(mode=Mode.CONSULT, validate=True), USI, *OWN)
    fleet.report("usi", 5, 20, "2g2f")
    fleet.report("n0", 15, 30, "7g7f")
    fleet.report("n1", 15, 10, "2g2f")
    fleet.report("n2", 5, 900, "5g5f")
    fleet.feed(StopSearch(1), 700)
    decision = fleet.decisions[0]
    assert decision.move == "2g2f"
    assert {ballot.voter for ballot in decision.ballots} == {"usi", "n0", "n1"}


def test_one_of_ours_beside_an_engine_that_cannot_split_is_a_vote_of_two() -> None:
    fleet = searching(Settings(Mode.SPLIT, validate=True), USI, OWN[0])
    assert {fleet.job(name).multipv for name in fleet.jobs} == {1}
    fleet.report("usi", 5, 20, "2g2f")
    fleet.report("n0", 15, 10, "7g7f")
    fleet.feed(StopSearch(1), 700)
    assert (fleet.decisions[0].source, fleet.decisions[0].move) == ("vote", "2g2f")


def test_a_tree_is_shared_by_nodes_of_one_engine() -> None:
    others = [NodeJoined("f0", "fairy"), NodeJoined("f1", "fairy")]
    fleet = searching(Settings(Mode.SPLIT, root_share=0, validate=True), *others, *OWN)
    assert {fleet.job(node.node_id).multipv for node in others} == {1}
    assert {fleet.job(node.node_id).multipv for node in OWN} == {3}


def test_one_that_joins_a_split_and_cannot_split_votes() -> None:
    fleet = searching(Settings(Mode.SPLIT, validate=True), *OWN)
    ranked(fleet)
    fleet.feed(USI, 600)
    assert not fleet.job("usi").searchmoves
    assert not fleet.job("usi").ignoremoves


def test_the_best_leaf_goes_to_the_fastest_node_and_views_say_so() -> None:
    fleet = searching(Settings(Mode.SPLIT, root_share=0, validate=True), *OWN)
    ranked(fleet)
    fleet.tick(600)
    assert fleet.job("n2").searchmoves == ("7g7f",)
    fleet.feed(StopSearch(1), 700)
    assert {view.node_id: view.speed for view in fleet.decisions[0].fleet}["n2"] == 4.0
