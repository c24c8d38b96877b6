"""Fleets as the configuration describes them."""

from __future__ import annotations

from typing import Any

import pytest

from master.commands import players
from master.commands.players import most_nodes, nodes_asked
from master.config import load_config


@pytest.mark.parametrize(
    ("processors", "settings", "asked", "most"),
    [
        (1, {}, 1, 1),
        (64, {}, 1, 64),
        (8, {"cluster": {"nodes": 3}}, 3, 8),
        (2, {"cluster": {"nodes": 5}}, 5, 2),
        (2, {"cluster": {"nodes": 5, "oversubscribe": True}}, 5, None),
        (8, {"engine": {"threads": 3}, "cluster": {"nodes": 4}}, 4, 2),
        (2, {"engine": {"threads": 3}}, 1, 1),
        (8, {"cluster": {"kinds": [{}, {"hash_mb": 16}]}}, 2, 8),
        (1, {"cluster": {"kinds": [{}, {"command": ["/usr/games/gpsusi"]}]}}, 2, 2),
    ],
)
def test_this_machine_runs_no_more_nodes_than_it_has_processors_for(
    processors: int, settings: dict[str, Any], asked: int, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "processors", lambda: processors)
    config = load_config(settings)
    assert (nodes_asked(config), most_nodes(config)) == (asked, most)
