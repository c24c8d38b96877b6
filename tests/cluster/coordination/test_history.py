"""The coordinator's memory of its searches and nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import PonderSearch, StartSearch, StopSearch
from cluster.coordination.assignment import Assignment
from cluster.coordination.events import NodeJoined, NodeLost
from cluster.coordination.group import Group
from cluster.coordination.states import CoordinatorState, Phase
from tests.cluster.coordination.bench import TIMED, Bench
from worker.states import TransitionError


def test_a_node_that_dies_in_a_search() -> None:
    bench = Bench(2)
    bench.feed(StartSearch(TIMED))
    job = bench.job("n2").job_id
    bench.report("n2", 5, 30, "7g7f")
    bench.feed(NodeLost("n2", "its process died"), 40)
    lost_ms = bench.now
    bench.feed(NodeJoined("n2"), 40)
    history = bench.coordinator.history("n2")
    assert history[0].what == "joined, with ''"
    [sent] = [step for step in history if step.what.startswith(f"job {job} sent: 0 moves on")]
    assert TIMED.search_id in sent.about
    [lost] = [step for step in history if step.what == "lost: its process died"]
    assert lost.at_ms == lost_ms
    assert not any("n1" in step.about for step in history)
    assert history[-1].at_ms == bench.now
    assert len(bench.coordinator.history()) > len(history)


def test_a_search_from_its_start_to_its_decision() -> None:
    bench = Bench(1)
    bench.feed(StartSearch(TIMED))
    bench.report("n1", 9, 30, "7g7f", "3c3d")
    bench.done("n1", 5000)
    bench.feed(StopSearch(TIMED.search_id), 100)
    told = [step.what for step in bench.coordinator.history(TIMED.search_id)]
    assert told[0] == "start: soft 1000 ms, hard 3000 ms, 0 moves made"
    assert any(what.startswith("job 1 over: 5000 nodes") for what in told)
    assert any(what.startswith("decision: 7g7f by vote, depth 9") for what in told)
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
    group = Group("split", [Assignment("n1"), Assignment("n2")])
    with pytest.raises(TransitionError, match="from whole to split"):
        group.enter(Phase.SPLIT)
    group.enter(Phase.PRESEARCH)
    group.enter(Phase.SPLIT)
    with pytest.raises(TransitionError):
        group.enter(Phase.PRESEARCH)
