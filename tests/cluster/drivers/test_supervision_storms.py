"""Supervision under random faults. Processes die, freeze, join and leave: searches have their decisions, no number is
given twice, and the fleet is whole again afterwards. ``python -m benchmarks.supervision`` has more of them."""

from __future__ import annotations

import pytest

from tests.cluster.supervision import storm


@pytest.mark.parametrize("seed", range(2))
def test_the_fleet_is_whole_again(seed: int) -> None:
    world = storm(seed)
    assert world.storm.starts > 5
    assert len(world.storm.decided) in (world.storm.starts, world.storm.starts - 1)


def test_all_kinds_of_faults_are_in_the_storms() -> None:
    world = storm(99, faults=60)
    assert {"node_dies", "supervisor_dies", "raylet_dies", "ray_dies", "freezes", "joins", "goes"} <= world.happened
    assert {"supervisor_lost", "ray_lost", "ray_failed", "adopted"} <= set(world.said)


def test_the_same_seed_is_the_same_storm() -> None:
    first, second = storm(3, faults=10), storm(3, faults=10)
    assert first.said == second.said
    assert first.storm.decided == second.storm.decided
