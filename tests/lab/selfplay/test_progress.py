"""The standing of ``gougi selfplay``: games of a shard that is lost do not count."""

from __future__ import annotations

import pytest

from lab.selfplay.run import Made, Played, ShardLost, ShardsProgress


def test_games_of_a_lost_shard_count_once(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ShardsProgress(4000, [{"games": 1000, "positions": 90_000}])
    for event in (
        Played(1, 900, 90_000, 9.0),
        ShardLost(1, "its process died"),
        Played(1, 10, 1_000, 1.0),
        Played(2, 300, 30_000, 3.0),
        Made(1, b"", 1000, 100_000, 10.0),
    ):
        progress.take(event)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "shard 1 is lost: its process died; it is made again"
    assert lines[1].startswith("2,300/4,000 games, 190,000 positions kept"), lines[1]
