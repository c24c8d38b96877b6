"""The coordinator's memory of its searches and nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import PonderSearch, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost, SendJob
from cluster.coordination.group import Assignment
from cluster.coordination.split_group import SplitGroup
from cluster.coordination.states import CoordinatorState, Phase
from tests.cluster.coordination.bench import TIMED, Bench
from worker.states import TransitionError


def test_what_happened_to_a_node_and_to_a_search() -> None:
    bench = Bench(2)
    bench.feed(StartSearch(TIMED))
    job = bench.job("n2")
    bench.report("n2", 5, 30, "7g7f")
    bench.feed(NodeLost("n2", "its process died"), 40)
    lost_ms = bench.now
    bench.feed(NodeJoined("n2"), 40)
    history = bench.coordinator.history("n2")
    assert history[0][1] == NodeJoined("n2")
    assert SendJob("n2", job) in [what for _, what in history]
    assert (lost_ms, NodeLost("n2", "its process died")) in history
    assert NodeJoined("n1") not in [what for _, what in history]
    assert len(bench.coordinator.history()) > len(history)
    bench.done("n1", 5000)
    bench.feed(StopSearch(TIMED.search_id), 100)
    found = [type(what).__name__ for _, what in bench.coordinator.history(TIMED.search_id)]
    assert found[0] == "StartSearch"
    assert {"SendJob", "Received", "Decision"} <= set(found)
    assert "Progress" not in found
    assert bench.coordinator.history(999) == []


def test_its_state_is_what_runs() -> None:
    bench = Bench(2)
    states = [bench.coordinator.state]
    ponder = PonderSearch(replace(TIMED, search_id=2, moves=("7g7f",), soft_ms=None, hard_ms=None))
    hit = StartSearch(replace(TIMED, search_id=3, moves=("7g7f", "3c3d")))
    for event in (StartSearch(TIMED), StopSearch(TIMED.search_id), ponder, hit):
        bench.feed(event)
        states.append(bench.coordinator.state)
        if event == StartSearch(TIMED):
            bench.report("n1", 9, 30, "7g7f", "3c3d", multipv=1)
    idle, searching, pondering = CoordinatorState.IDLE, CoordinatorState.SEARCHING, CoordinatorState.PONDERING
    assert states == [idle, searching, idle, pondering, searching]


def test_a_group_keeps_to_its_way() -> None:
    group = SplitGroup("split", [Assignment("n1"), Assignment("n2")])
    with pytest.raises(TransitionError, match="from whole to split"):
        group.enter(Phase.SPLIT)
    group.enter(Phase.PRESEARCH)
    group.enter(Phase.SPLIT)
    with pytest.raises(TransitionError):
        group.enter(Phase.PRESEARCH)
