"""The coordinator under random events in random order: each search has one decision, legal and in time."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cluster.coordination.coordinator import Coordinator
from cluster.coordination.settings import Mode, Settings
from tests.cluster.storm import NODES, Storm


@pytest.mark.parametrize("mode", Mode)
@given(
    seed=st.integers(0, 2**32),
    beside_master=st.booleans(),
    groups=st.integers(1, 3),
)
@example(seed=103920, beside_master=False, groups=2)  # a presearch ends if its nodes are gone
@settings(max_examples=25)
def test_one_legal_decision_in_time(mode: Mode, seed: int, beside_master: bool, groups: int) -> None:
    rng = random.Random(seed)
    chosen = Settings(mode=mode, groups=groups, fallback_nodes=500, validate=True)
    storm = Storm(Coordinator(chosen), beside_master)
    for node_id in NODES[: rng.randrange(len(NODES))]:
        storm.join(node_id)
    for _ in range(rng.choice([20, 150])):
        storm.step(rng)
    storm.calm()
    assert len(storm.decided) == storm.starts


def test_the_storms_have_ponder_hits_in_them() -> None:
    hits = 0
    for seed in range(20):
        storm, rng = Storm(Coordinator(Settings(Mode.SPLIT, validate=True))), random.Random(seed)
        for _ in range(150):
            storm.step(rng)
        hits += storm.hits
    assert hits > 5


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_the_same_events_bring_the_same_instructions(seed: int) -> None:
    decided = []
    for _ in range(2):
        storm, rng = Storm(Coordinator(Settings(Mode.SPLIT, validate=True))), random.Random(seed)
        for _ in range(80):
            storm.step(rng)
        decided.append(storm.decided)
    assert decided[0] == decided[1]
