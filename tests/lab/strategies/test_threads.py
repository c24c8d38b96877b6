"""The laboratory's own names of strategies, and fleets with one shared table."""

from __future__ import annotations

import pytest

from cluster.api import SearchRequest
from cluster.engine_spec import EngineSpec, Networks
from lab.strategies.strategy import StrategyError
from lab.strategies.threads import HISTORIES, SLICE_MS, lab_strategy
from lab.strategies.virtual import VirtualFleet, VirtualNode
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS


@pytest.mark.parametrize(
    ("text", "name", "one_table", "one_history", "slice_ms"),
    [
        ("threads", "threads", True, True, 8),
        ("threads+one_history=0", "threads+one_history=0", True, False, 8),
        ("threads+slice_ms=32", "threads+slice_ms=32", True, True, 32),
        ("threads+one_table=0+share_depth=1", "threads+share_depth=1+one_table=0", False, True, 8),
        ("consult", "consult", False, False, SLICE_MS),
        ("consult+slice_ms=8+depths=0", "consult+depths=0+slice_ms=8", False, False, 8),
        ("split", "split", False, False, SLICE_MS),
    ],
)
def test_names(text: str, name: str, one_table: bool, one_history: bool, slice_ms: int) -> None:
    found = lab_strategy(text)
    assert found.name == name
    assert (found.one_table, found.one_history, found.slice_ms) == (one_table, one_history, slice_ms)
    assert lab_strategy(found.name) == found


def test_histories_are_exchanged_by_nodes_alone() -> None:
    found = [
        lab_strategy(name).histories for name in ("consult", "consult+histories=0", "threads", "threads+histories=5")
    ]
    assert found == [HISTORIES, 0, 0, 5]


def test_settings_are_the_fleets() -> None:
    assert lab_strategy("threads+one_table=0+share_depth=1").share_depth == 1


def test_networks_in_turn_and_the_budget_of_the_second() -> None:
    found = lab_strategy("consult+nets=2+second_budget=300")
    assert found.name == "consult+nets=2+second_budget=300"
    assert [found.budget_of(number, 1000) for number in range(4)] == [1000, 3000, 1000, 3000]
    assert [lab_strategy("consult").budget_of(number, 1000) for number in range(2)] == [1000, 1000]


@pytest.mark.parametrize(
    "text",
    ["consult+nets=0", "threads+one_table=2", "threads+slice_ms=0", "threads+slice_ms=x", "threads:loud", "thread"],
)
def test_no_strategy(text: str) -> None:
    with pytest.raises(StrategyError):
        lab_strategy(text)


def fleet_of(name: str, engines: list[NumbaEngine]) -> VirtualFleet:
    nodes = [VirtualNode(f"n{number}", engine, nps=3000) for number, engine in enumerate(engines)]
    return VirtualFleet.of(nodes, lab_strategy(name))


@pytest.mark.usefixtures("warm")
def test_threads_search_on_one_table_and_the_engines_are_their_own_again_after() -> None:
    networks = Networks()
    numba = [NumbaEngine(1, network=networks.of(EngineSpec()), number=number) for number in range(2)]
    request = SearchRequest(1, STARTPOS, ("7g7f", "3c3d"), nodes=3000)
    found = {}
    for name in ("consult", "threads", "threads+one_history=0", "consult"):
        fleet = fleet_of(name, numba)
        fleet.new_game()
        first, second = (engine.only_record() for engine in numba)
        assert (first.tt == second.tt) == (name != "consult")
        assert (first.shared == second.shared) == (name == "threads")
        found.setdefault(name, []).append(fleet.search(request).ballots)
    assert found["consult"][0] == found["consult"][1]
    assert found["threads"][0] != found["consult"][0]
    assert found["threads"][0] != found["threads+one_history=0"][0]
