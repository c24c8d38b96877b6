"""Strategies by name, and fleets with one shared table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import SearchRequest
from cluster.coordination.settings import Mode, Settings
from cluster.engine_spec import EngineSpec, Networks
from cluster.split.tree import TakeoverMargin
from lab.strategies.strategy import HISTORIES, SLICE_MS, StrategyError, adjustable, strategy
from lab.strategies.virtual import VirtualFleet, VirtualNode
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_is_a_strategy(mode: Mode) -> None:
    assert (strategy(mode).name, strategy(mode).settings) == (mode, Settings(mode=mode))


def test_settings_after_the_name() -> None:
    found = strategy("split+presearch_share=0.2+takeover.margin=40")
    assert found.name == "split+presearch_share=0.2+takeover.margin=40"
    assert found.settings == replace(
        strategy("split").settings, presearch_share=0.2, takeover=TakeoverMargin(margin=40)
    )
    assert {"presearch_share", "takeover.margin"} <= set(adjustable())
    assert "validate" not in adjustable()


def test_a_pondering_node_says_so() -> None:
    found = strategy("split+ponder=1")
    assert (found.name, found.ponder, found.settings) == ("split+ponder=1", True, strategy("split").settings)
    assert not strategy("split+ponder=0").ponder
    assert "ponder" in adjustable()


@pytest.mark.parametrize(
    ("text", "one_table", "one_history", "slice_ms"),
    [
        ("threads", True, True, 8),
        ("threads+one_history=0", True, False, 8),
        ("threads+slice_ms=32", True, True, 32),
        ("threads+one_table=0+share_depth=1", False, True, 8),
        ("consult", False, False, SLICE_MS),
        ("consult+slice_ms=8+share_depth=0", False, False, 8),
        ("split", False, False, SLICE_MS),
    ],
)
def test_how_closely_searchers_are_coupled(text: str, one_table: bool, one_history: bool, slice_ms: int) -> None:
    found = strategy(text)
    assert (found.name, found.one_table, found.one_history, found.slice_ms) == (text, one_table, one_history, slice_ms)


def test_histories_are_exchanged_by_nodes_alone() -> None:
    found = [strategy(name).histories for name in ("consult", "consult+histories=0", "threads", "threads+histories=5")]
    assert found == [HISTORIES, 0, 0, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("split+ponder=yes", "ponder: 'yes' is no whole number from 0 to 1"),
        ("", "no strategy ''"),
        ("flat", "there are consult, split, tiers, threads"),
        ("consult:loudest", "no strategy 'consult:loudest'"),
        ("split+presearch_share", "expected SETTING=NUMBER"),
        ("split+speed=3", "speed: no such setting"),
        ("split+takeover=3", "takeover: no such setting"),
        ("split+validate=1", "validate: no such setting"),
        ("split+presearch_multipv=2.5", "'2.5' is no int"),
        ("tiers+groups=0", "groups is 0: expected 1 or more"),
        ("split+takeover.margin=-1", "takeover.margin: margin is -1: expected 0 or more"),
        ("split+redeal.last=1.5", "redeal.last: last is 1.5: expected 0 to 1"),
        ("split+dealing.unseen=nan", "dealing.unseen: unseen is nan: expected 0 or more"),
        ("split+ponder_temperature=0", "ponder_temperature is 0.0: expected more than 0"),
        ("split+root_share=1.5", "root_share is 1.5: expected 0 to 1"),
        ("split+stop_grace_ms=-1", "stop_grace_ms is -1: expected 0 or more"),
        ("threads+one_table=2", "one_table: '2' is no whole number from 0 to 1"),
        ("threads+slice_ms=0", "slice_ms: '0' is no whole number from 1 to 1000"),
        ("consult+share_depth=-1", "share_depth: '-1' is no whole number from 0 to 60"),
        ("thread", "no strategy 'thread'"),
    ],
)
def test_errors_name_the_fault(text: str, words: str) -> None:
    with pytest.raises(StrategyError, match=words.replace("+", r"\+")):
        strategy(text)


def fleet_of(name: str, engines: list[NumbaEngine]) -> VirtualFleet:
    nodes = [VirtualNode(f"n{number}", engine, nps=3000) for number, engine in enumerate(engines)]
    return VirtualFleet.of(nodes, strategy(name))


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
