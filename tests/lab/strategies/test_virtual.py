"""Whole searches in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cluster.api import FleetError, SearchRequest
from cluster.coordination.events import NodeLost
from cluster.coordination.settings import Mode, Settings
from cluster.engine_spec import EngineSpec
from cluster.network.messages import Done, Job, Report
from lab.strategies.strategy import HISTORIES
from lab.strategies.virtual import JobRun, VirtualFleet, VirtualNode
from tests.cluster.engines import HashEngine
from worker.engine import Entries, InfoCallback, Limits, SearchResult
from worker.score import mate_in
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

SETTINGS = Settings(Mode.SPLIT, validate=True)


def fleet(count: int, nps: int = 10_000, settings: Settings = SETTINGS, delay_ms: int = 0) -> VirtualFleet:
    return VirtualFleet([VirtualNode(f"n{i}", HashEngine(), nps, delay_ms) for i in range(1, count + 1)], settings)


def names(found: VirtualFleet) -> list[str]:
    return [event.name for _, event in found.log]


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("mode", Mode)
def test_any_number_of_nodes_keeps_its_budget(count: int, mode: Mode) -> None:
    found = fleet(count, settings=Settings(mode=mode, validate=True))
    decision = found.search(SearchRequest(1, STARTPOS, nodes=5000))
    assert decision.source == ("split" if mode is Mode.SPLIT and count > 1 else "vote")
    busy = [view for view in decision.fleet if view.nodes]
    assert len(busy) == min(count, 40)
    assert all(view.nodes <= 5000 for view in busy)
    assert decision.elapsed_ms <= 501


def test_the_same_search_twice_is_the_same() -> None:
    games = []
    for _ in range(2):
        found = fleet(4, delay_ms=3)
        moves: tuple[str, ...] = ()
        for number in range(1, 9):
            decision = found.search(SearchRequest(number, STARTPOS, moves, nodes=4000))
            moves = (*moves, decision.move)
        games.append((moves, found.now_ms))
    assert games[0] == games[1]


def test_a_leaf_of_its_own_is_searched_deeper_by_its_node() -> None:
    found = fleet(2, settings=replace(SETTINGS, root_share=0))
    decision = found.search(SearchRequest(1, STARTPOS, nodes=20_000))
    jobs = [job[2] for job in found.nodes[0].engine.jobs + found.nodes[1].engine.jobs]  # type: ignore[attr-defined]
    assert [len(job.searchmoves) for job in jobs] == [0, 1, 0, 0]
    assert jobs[3].ignoremoves == jobs[1].searchmoves
    assert decision.depth >= 18


def test_a_root_searcher_is_not_interrupted_while_the_others_are_tested() -> None:
    found = fleet(2)
    found.search(SearchRequest(1, STARTPOS, nodes=20_000))
    root_searcher, tester = ([job[2] for job in node.engine.jobs] for node in found.nodes)  # type: ignore[attr-defined]
    assert [(limits.nodes, limits.searchmoves, limits.ignoremoves) for limits in root_searcher] == [(20_000, (), ())]
    assert [len(limits.ignoremoves) for limits in tester[:2]] == [0, 1]
    assert tester[1].alpha is not None


def test_a_slow_node_is_waited_for_no_longer_than_the_soft_time() -> None:
    nodes = [VirtualNode("fast", HashEngine(), 10_000), VirtualNode("slow", HashEngine(), 10)]
    found = VirtualFleet(nodes, SETTINGS)
    decision = found.search(SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=1500))
    assert decision.elapsed_ms == 1000
    assert decision.source == "split"


@pytest.mark.parametrize("at_ms", [0, 99, 100, 500])
def test_losses_and_joins_at_any_time(at_ms: int) -> None:
    found = fleet(3)
    request = SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=1500)
    decision = found.search(request, [(at_ms, NodeLost("n1", "test")), (at_ms + 150, found.nodes[0].joins())])
    assert decision.elapsed_ms == 1000
    assert "node_lost" in names(found)


def test_all_lost() -> None:
    found = fleet(2)
    losses = [(400, NodeLost("n1", "test")), (400, NodeLost("n2", "test"))]
    decision = found.search(SearchRequest(1, STARTPOS, soft_ms=1000, hard_ms=1500), losses)
    assert (decision.elapsed_ms, decision.source) == (1000, "split")
    again = found.search(SearchRequest(2, STARTPOS, soft_ms=1000, hard_ms=1500))
    assert (again.elapsed_ms, again.source, again.score) == (1490, "none", None)


def test_an_engine_that_refuses_its_job() -> None:
    class Refusing(HashEngine):
        def set_position(self, sfen: str, moves: object = ()) -> None:
            from worker.engine import EngineError

            raise EngineError("I do not play")

    nodes = [VirtualNode("good", HashEngine(), 10_000), VirtualNode("bad", Refusing(), 10_000)]
    found = VirtualFleet(nodes, SETTINGS)
    decision = found.search(SearchRequest(1, STARTPOS, nodes=5000))
    assert decision.source == "vote"
    assert "job_failed" in names(found)


def test_a_search_without_limits_is_refused() -> None:
    with pytest.raises(FleetError, match="needs a limit"):
        fleet(1).search(SearchRequest(1, STARTPOS))


@pytest.mark.usefixtures("warm")
def test_with_the_engine_that_ships() -> None:
    """A mate in one that the presearch finds is played at once; a quiet position takes the whole budget."""
    nodes = [VirtualNode(f"n{i}", EngineSpec(hash_mb=4).build()) for i in range(1, 4)]
    found = VirtualFleet(nodes, SETTINGS)
    quiet = found.search(SearchRequest(1, STARTPOS, nodes=5000))
    assert (quiet.source, quiet.depth > 3) == ("split", True)
    assert 3 * 4000 < quiet.nodes < 3 * 5100
    mate = found.search(SearchRequest(2, "4k4/9/4P4/9/9/9/9/9/4K4 b G 1", nodes=5000))
    assert mate.move == "G*5b"
    assert mate.score == mate_in(1)
    assert mate.nodes < 3 * 1000


class Absorbing(NumbaEngine):
    """Our own searcher, with a count of the entries that it takes from others."""

    def __init__(self, spec: EngineSpec) -> None:
        super().__init__(spec.hash_mb, network=spec.load_network(), number=spec.number)
        self.absorbed = 0

    def absorb_entries(self, entries: Entries) -> int:
        used = super().absorb_entries(entries)
        self.absorbed += used
        return used


def sharing_fleet(
    share_depth: int, specs: Sequence[EngineSpec], histories: int = HISTORIES
) -> tuple[VirtualFleet, list[Absorbing]]:
    engines = [Absorbing(spec) for spec in specs]
    nodes = [VirtualNode(f"n{number}", engine, nps=5000) for number, engine in enumerate(engines)]
    settings = Settings(mode=Mode.CONSULT, validate=True)
    return VirtualFleet(nodes, settings, share_depth, histories=histories), engines


ALIKE = tuple(EngineSpec(hash_mb=4, number=number) for number in range(3))


@pytest.mark.usefixtures("warm")
def test_nodes_share_entries_in_the_same_way_every_time() -> None:
    request = SearchRequest(1, STARTPOS, ("7g7f", "3c3d"), nodes=5000)
    found = []
    for _ in range(2):
        fleet, engines = sharing_fleet(2, ALIKE)
        found.append((fleet.search(request), [engine.absorbed for engine in engines]))
    assert found[0] == found[1]
    assert all(absorbed > 100 for absorbed in found[0][1])
    alone, engines = sharing_fleet(0, ALIKE)
    assert alone.search(request).ballots != found[0][0].ballots
    assert [engine.absorbed for engine in engines] == [0, 0, 0]


@pytest.mark.usefixtures("warm")
def test_nodes_exchange_histories() -> None:
    differ: dict[int, int] = {}
    for histories in (0, 100, 1_000_000):
        fleet, engines = sharing_fleet(2, ALIKE[:2], histories)
        fleet.search(SearchRequest(1, STARTPOS, nodes=5000))
        first, second = (engine._histories.values for engine in engines)
        differ[histories] = np.count_nonzero(first != second)
    assert 1000 < differ[100] < differ[0]
    assert differ[1_000_000] < differ[0] / 5


@pytest.mark.usefixtures("warm")
def test_a_node_that_is_lost_or_stopped_is_no_longer_driven() -> None:
    """Its engine is ready for the next search."""
    fleet, _ = sharing_fleet(2, ALIKE)
    lost = fleet.search(SearchRequest(1, STARTPOS, nodes=5000), faults=[(300, NodeLost("n1", "unplugged"))])
    assert 10_000 < lost.nodes < 12_000
    soft = fleet.search(SearchRequest(2, STARTPOS, soft_ms=500, hard_ms=900))
    assert soft.elapsed_ms == 500
    assert fleet.search(SearchRequest(3, STARTPOS, nodes=5000)).nodes >= 10_000


def test_the_coordinator_knows_the_engines_and_their_speeds() -> None:
    found = fleet(3, nps=5_000)
    found.nodes[2].engine.can_split = False
    other = VirtualFleet([*found.nodes[:2], replace(found.nodes[2], nps=20_000)], SETTINGS)
    decision = other.search(SearchRequest(1, STARTPOS, nodes=5000))
    assert {ballot.voter for ballot in decision.ballots} == {"split", "n3"}
    assert {view.node_id: view.speed for view in decision.fleet} == pytest.approx({"n1": 1, "n2": 1, "n3": 4}, rel=0.2)


OPENING = ("7g7f", "3c3d")


def known_reply(fleet: VirtualFleet) -> tuple[tuple[str, ...], str]:
    """The moves up to our own, chosen by a search, and the reply that the fleet expects."""
    decision = fleet.search(SearchRequest(1, STARTPOS, OPENING, nodes=5000))
    return (*OPENING, decision.move), decision.pv[1]


@pytest.mark.usefixtures("warm")
def test_a_ponder_hit_continues_the_ponder_search() -> None:
    fleet, engines = sharing_fleet(2, ALIKE)
    moves, _ = known_reply(fleet)
    fleet.ponder(SearchRequest(2, STARTPOS, moves), for_ms=700)
    assert fleet.now_ms == 1700
    [replies] = [event.fields["replies"] for _, event in fleet.log if event.name == "pondering"]
    reply = next(iter(replies))
    decision = fleet.search(SearchRequest(3, STARTPOS, (*moves, reply), soft_ms=1000, hard_ms=2000))
    assert "ponder_hit" in names(fleet)
    assert (decision.elapsed_ms, fleet.now_ms) == (1000, 2700)
    assert decision.pondered_ms == 700
    searched = [engine.nodes for engine in engines]
    assert min(searched) > 4900
    assert 8400 < max(searched) < 8700


@pytest.mark.usefixtures("warm")
def test_pondering_comes_to_rest_and_the_next_game_begins() -> None:
    fleet, engines = sharing_fleet(2, ALIKE[:1])
    fleet.ponder(SearchRequest(1, STARTPOS, OPENING), for_ms=300)
    fleet.rest()
    searched = engines[0].nodes
    fleet.new_game()
    # A position with a mate in a few plies reaches its last depth; no node waits for a stop that cannot come.
    fleet.ponder(SearchRequest(2, "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1", ("G*5b",)), for_ms=1000)
    fleet.rest()
    fleet.rest()
    assert 0 < searched < 5000 * 0.4
    assert fleet.search(SearchRequest(3, STARTPOS, nodes=1000)).source == "vote"


def test_an_engine_that_cannot_be_driven_by_steps_does_not_ponder() -> None:
    found = fleet(2)
    found.ponder(SearchRequest(1, STARTPOS, OPENING), for_ms=500)
    refused = [event.fields["error"] for _, event in found.log if event.name == "job_failed"]
    assert len(refused) == 2
    assert "cannot be driven by steps" in str(refused[0])
    assert found.search(SearchRequest(2, STARTPOS, OPENING, nodes=5000)).source == "split"


class LateEngine(HashEngine):
    """Has a result a millisecond after its last report."""

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        found = super().go(limits, on_info)
        return replace(found, lines=tuple(replace(line, time_ms=line.time_ms + 1) for line in found.lines))


def test_reports_do_not_depend_on_the_clock() -> None:
    told = [
        JobRun(VirtualNode("n1", engine), Job(1, 2, STARTPOS, nodes=1000), 0).advance(100)
        for engine in (HashEngine(), LateEngine())
    ]
    assert told[0] == told[1]
    messages = [message for _, message in told[0]]
    assert isinstance(messages[-1], Done) and all(isinstance(message, Report) for message in messages[:-1])
