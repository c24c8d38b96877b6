"""Fleets as the configuration describes them."""

from __future__ import annotations

from typing import Any

import pytest

from master.commands import players
from master.commands.players import node_count, thread_count
from master.config import load_config


@pytest.mark.parametrize(
    ("processors", "settings", "nodes", "threads"),
    [
        (1, {}, 1, 1),
        (2, {}, 1, 2),
        (64, {}, 1, 16),
        (8, {"cluster": {"nodes": 3}}, 3, 2),
        (2, {"cluster": {"nodes": 5}}, 5, 1),
        (8, {"engine": {"threads": 3}}, 1, 3),
        (8, {"engine": {"threads": 3}, "cluster": {"nodes": 4}}, 4, 3),
        (8, {"cluster": {"kinds": [{}, {"hash_mb": 16}]}}, 2, 4),
        (8, {"cluster": {"address": "10.0.0.1:6379"}}, 1, 1),
    ],
)
def test_the_nodes_of_a_fleet_here_share_out_the_processors(
    processors: int, settings: dict[str, Any], nodes: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "processors", lambda: processors)
    config = load_config(settings)
    assert (node_count(config), thread_count(config)) == (nodes, threads)
