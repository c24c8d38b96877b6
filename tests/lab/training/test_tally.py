"""Counts of self-play."""

from __future__ import annotations

import numpy as np
import pytest

from lab.selfplay.positions import BINS, ShardTally, fitted_scale, packed_records
from lab.selfplay.walk import QUIET_SCORE
from tests.lab.selfplay.games import games_of, made


@pytest.mark.parametrize("scale", [300, 600, 1400, 5000])
def test_the_scale_that_made_the_results_is_found(scale: float) -> None:
    scores = (np.arange(BINS) + 0.5) * 10 - QUIET_SCORE
    weights = np.linspace(50, 2000, BINS)
    found = fitted_scale(weights, weights / (1 + np.exp(-scores / scale)))
    assert found == pytest.approx(scale, rel=1e-6)


def test_results_that_no_score_explains_have_no_scale() -> None:
    assert fitted_scale(np.zeros(BINS), np.zeros(BINS)) is None
    weights = np.ones(BINS)
    assert fitted_scale(weights, weights / 2) is None
    assert fitted_scale(weights, (np.arange(BINS) >= BINS // 2).astype(float)) is None


def test_counts_are_those_of_the_games() -> None:
    shards = [made(0, games=8, entering=0.5), made(1, games=8, entering=0.5)]
    tally = ShardTally()
    for shard in shards:
        tally.add(shard)
    facts = tally.facts()
    games = [game for shard in shards for game in games_of(shard)]
    positions = sum(len(game.moves) for game in games)
    assert (facts["shards"], facts["games"], facts["positions"]) == (2, 16, positions)
    assert facts["kept"] == sum(len(b"".join(packed_records(shard))) // 40 for shard in shards)
    assert facts["black_wins"] == sum(game.result == 1 for game in games)
    assert facts["black_wins"] + facts["draws"] + facts["white_wins"] == 16 == sum(facts["ends"].values())
    assert sum(row["positions"] for row in facts["scores"]) == positions
    assert facts["length"]["longest"] == max(len(game.moves) for game in games)
    assert facts["bytes_per_position"] == sum(len(shard.to_bytes()) for shard in shards) / positions
    tally.add(shards[0])
    assert tally.facts()["duplicate_share"] > facts["duplicate_share"] + 0.2, "the same games again"
