"""Positions in the common packed format, against rsshogi; and counts of games."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rsshogi.core import Board

from lab.selfplay.folder import shards_in
from lab.selfplay.walk import QUIET_SCORE, pack
from lab.training.corpus import BINS, fitted_scale
from lab.training.tally import count_games, counts_text
from tests.lab.selfplay.games import games_of
from tests.lab.training.shards import folder_of
from worker.jit.memory import aligned_zeros
from worker.shogi import STARTPOS, Position

SFENS = (
    STARTPOS,
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "8k/9/9/9/9/9/9/9/K8 b 2R2B4G4S4N4L18P 1",
    "+R+B+N+L+S+P2k/9/9/9/9/9/9/9/K2+p+s+l+n+b+r w 4G2S2N2L16P 1",
    "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w b 4",
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2",
)


def packed(position: Position) -> bytes:
    memory = aligned_zeros(32, np.uint8)
    memory[:] = 255
    pack(position.record, memory.ctypes.data)
    return memory.tobytes()


@pytest.mark.parametrize("sfen", SFENS)
def test_positions_are_packed_and_read_as_by_the_field(sfen: str) -> None:
    position = Position.from_sfen(sfen)
    theirs = Board(sfen).to_packed_sfen()
    # The order of a hand's pieces is free: rsshogi has golds before bishops.
    board = Board()
    board.set_packed_sfen(packed(position))
    assert board.to_sfen().split()[:3] == Board(sfen).to_sfen().split()[:3]
    if not any(position.hand(0)) and not any(position.hand(1)):
        assert packed(position) == theirs


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


def test_counts_are_those_of_the_games(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, shards=2, games=8)
    facts = count_games(folder)
    games = [game for shard in shards_in(folder) for game in games_of(shard)]
    assert (facts["shards"], facts["games"], facts["positions"]) == (2, 16, sum(len(game.moves) for game in games))
    assert 0 < facts["kept"] < facts["positions"]
    assert facts["black_wins"] == sum(game.result == 1 for game in games)
    assert facts["black_wins"] + facts["draws"] + facts["white_wins"] == 16 == sum(facts["ends"].values())
    assert facts["length"]["longest"] == max(len(game.moves) for game in games)
    assert "16" in counts_text(facts)
