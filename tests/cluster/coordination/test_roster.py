"""The speed of nodes, and the choice of those that can share out a tree."""

from __future__ import annotations

import pytest

from cluster.api import Decision, SearchRequest, StartSearch, StopSearch
from cluster.coordination.coordinator import Coordinator
from cluster.coordination.events import NodeJoined, Received, SendJob
from cluster.coordination.roster import Roster, speed_class
from cluster.coordination.settings import Mode, Settings
from cluster.network.messages import Done, Job, Report
from worker.engine import Bound
from worker.shogi import STARTPOS


def roster(*facts: NodeJoined) -> Roster:
    found = Roster()
    for fact in facts:
        found.join(fact)
    return found


class TestSpeeds:
    def test_what_nodes_say_counts_until_they_are_measured(self) -> None:
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

    def test_speeds_are_alike_within_a_quarter(self) -> None:
        assert speed_class(1.05) == speed_class(0.95) == 0
        assert speed_class(2.0) > speed_class(1.3) > 0 > speed_class(0.7)
        assert speed_class(0.0) < speed_class(0.01)


class Fleet:
    """A coordinator whose jobs are kept by node."""

    def __init__(self, settings: Settings, *facts: NodeJoined) -> None:
        self.coordinator = Coordinator(settings)
        self.jobs: dict[str, Job] = {}
        self.decided: list[Decision] = []
        for fact in facts:
            self.feed(fact)

    def feed(self, event: NodeJoined | StartSearch | StopSearch | Received, now_ms: int = 0) -> None:
        for out in self.coordinator.handle(event, now_ms):
            if isinstance(out, SendJob):
                self.jobs[out.node_id] = out.job
            elif isinstance(out, Decision):
                self.decided.append(out)

    def start(self) -> None:
        self.feed(StartSearch(SearchRequest(1, STARTPOS, soft_ms=5000, hard_ms=9000)))

    def report(self, node_id: str, depth: int, score: int, pv: str, *, multipv: int = 1, now_ms: int = 100) -> None:
        job = self.jobs[node_id]
        line = (depth, depth, score, Bound.EXACT, 1000 * depth, now_ms, 0, tuple(pv.split()), multipv)
        self.feed(Received(Report(node_id, 1, job.job_id, *line)), now_ms)


USI = NodeJoined("usi", "gpsshogi", can_split=False)
OWN = [NodeJoined(f"n{number}", "gougi", nps=nps) for number, nps in enumerate((100, 100, 400, 100))]


@pytest.mark.parametrize("mode", [Mode.SPLIT, Mode.TIERS])
def test_who_cannot_split_searches_whole_and_votes(mode: Mode) -> None:
    fleet = Fleet(Settings(mode=mode, groups=2, root_share=0, validate=True), USI, *OWN)
    fleet.start()
    assert fleet.jobs["usi"].multipv == 1
    assert all(fleet.jobs[node.node_id].multipv > 1 for node in OWN) or mode is Mode.TIERS
    for rank, move in enumerate(("7g7f", "2g2f", "5g5f"), 1):
        for node in OWN:
            fleet.report(node.node_id, 8, 50 - rank, move, multipv=rank)
    fleet.report("usi", 5, 300, "2g2f")
    fleet.feed(Received(Done("n0", 1, fleet.jobs["n0"].job_id, 9000, 400)), 600)
    assert not fleet.jobs["usi"].searchmoves
    assert not fleet.jobs["usi"].ignoremoves
    assert any(fleet.jobs[node.node_id].searchmoves for node in OWN)
    fleet.feed(StopSearch(1), 700)
    ballots = {ballot.voter: ballot.move for ballot in fleet.decided[0].ballots}
    assert ballots["usi"] == "2g2f"
    assert len(ballots) == (2 if mode is Mode.SPLIT else 3)


def test_a_voter_of_another_engine_is_heard_though_it_counts_fewer_plies() -> None:
    fleet = Fleet(Settings(mode=Mode.CONSULT, validate=True), USI, *OWN)
    fleet.start()
    fleet.report("usi", 5, 20, "2g2f")
    fleet.report("n0", 15, 30, "7g7f")
    fleet.report("n1", 15, 10, "2g2f")
    fleet.report("n2", 5, 900, "5g5f")
    fleet.feed(StopSearch(1), 700)
    decision = fleet.decided[0]
    assert decision.move == "2g2f"
    assert {ballot.voter for ballot in decision.ballots} == {"usi", "n0", "n1"}


def test_one_of_ours_beside_an_engine_that_cannot_split_is_a_vote_of_two() -> None:
    fleet = Fleet(Settings(Mode.SPLIT, validate=True), USI, OWN[0])
    fleet.start()
    assert {job.multipv for job in fleet.jobs.values()} == {1}
    fleet.report("usi", 5, 20, "2g2f")
    fleet.report("n0", 15, 10, "7g7f")
    fleet.feed(StopSearch(1), 700)
    assert (fleet.decided[0].source, fleet.decided[0].move) == ("vote", "2g2f")


def test_a_tree_is_shared_by_nodes_of_one_engine() -> None:
    others = [NodeJoined("f0", "fairy"), NodeJoined("f1", "fairy")]
    fleet = Fleet(Settings(Mode.SPLIT, root_share=0, validate=True), *others, *OWN)
    fleet.start()
    assert {fleet.jobs[node.node_id].multipv for node in others} == {1}
    assert {fleet.jobs[node.node_id].multipv for node in OWN} == {3}


def test_one_that_joins_a_split_and_cannot_split_votes() -> None:
    fleet = Fleet(Settings(Mode.SPLIT, validate=True), *OWN)
    fleet.start()
    for rank, move in enumerate(("7g7f", "2g2f", "5g5f"), 1):
        for node in OWN:
            fleet.report(node.node_id, 8, 50 - rank, move, multipv=rank)
    fleet.feed(USI, 600)
    assert not fleet.jobs["usi"].searchmoves
    assert not fleet.jobs["usi"].ignoremoves


def test_the_best_leaf_goes_to_the_fastest_node_and_views_say_so() -> None:
    fleet = Fleet(Settings(Mode.SPLIT, root_share=0, validate=True), *OWN)
    fleet.start()
    for rank, move in enumerate(("7g7f", "2g2f", "5g5f"), 1):
        for node in OWN:
            fleet.report(node.node_id, 8, 50 - rank, move, multipv=rank)
    fleet.report("n0", 9, 49, "7g7f", now_ms=600)
    assert fleet.jobs["n2"].searchmoves == ("7g7f",)
    fleet.feed(StopSearch(1), 700)
    assert {view.node_id: view.speed for view in fleet.decided[0].fleet}["n2"] == 4.0
