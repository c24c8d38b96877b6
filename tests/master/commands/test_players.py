"""Fleets as the configuration describes them."""

from __future__ import annotations

from typing import Any

import pytest

from master.commands import players
from master.commands.players import most_nodes, nodes_asked, player_settings
from master.config import load_config
from master.player.instructions import PlayerSettings
from worker.clock import ClockSettings


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


def test_what_the_configuration_says_of_the_player_reaches_it() -> None:
    config = load_config(
        {
            "clock": {"network_margin_ms": 701, "most_reserve_ms": 302},
            "play": {
                "resign_score": 1234,
                "resign_moves": 7,
                "mate_at_limit": True,
                "draw_value_black": -11,
                "draw_value_white": 22,
                "ponder": False,
            },
            "book": {"answer_ms": 345},
        }
    )
    assert player_settings(config) == PlayerSettings(
        clock=ClockSettings(network_margin_ms=701, most_reserve_ms=302),
        resign_score=1234,
        resign_moves=7,
        mate_at_limit=True,
        draw_black=-11,
        draw_white=22,
        ponder=False,
        book_ms=345,
    )
    assert player_settings(load_config({"play": {"resign_score": 0}})).resign_score is None
