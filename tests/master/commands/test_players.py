"""Fleets as the configuration describes them."""

from __future__ import annotations

import pytest

from master.commands import players
from master.commands.players import node_count
from master.config import load_config


@pytest.mark.parametrize(
    ("processors", "threads", "nodes"), [(1, 1, 1), (2, 1, 2), (6, 1, 6), (64, 1, 8), (8, 4, 2), (2, 4, 1)]
)
def test_a_fleet_of_our_own_has_a_node_for_each_processor(
    processors: int, threads: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "processors", lambda: processors)
    assert node_count(load_config({"engine": {"threads": threads}})) == nodes
    assert node_count(load_config({"engine": {"threads": threads}, "cluster": {"nodes": 5}})) == 5
