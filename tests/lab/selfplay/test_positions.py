"""Positions out of games, against rsshogi; and counts of them."""

from __future__ import annotations

import numpy as np
import pytest
from rsshogi.core import Board

from lab.selfplay.positions import BINS, ShardTally, fitted_scale, walk
from lab.selfplay.shard import PackedError, unpack, unpacked_position
from lab.selfplay.walk import CAPTURES, IN_CHECK, PROMOTES, QUIET_SCORE, pack, whole_move
from tests.lab.selfplay.games import games_of, made
from worker.jit.memory import aligned_zeros
from worker.shogi import STARTPOS, Position, move_to_usi

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
    assert unpacked_position(theirs, position.move_number).sfen() == position.sfen()


def test_what_goes_on_in_a_position_is_as_rsshogi_sees_it() -> None:
    shard = made(games=8, entering=0.5)
    facts_seen = 0
    for walked in walk(shard):
        game = walked.game
        position = unpacked_position(game.start, game.move_number)
        for i, short in enumerate(game.moves):
            board = Board(position.sfen())
            move = int(whole_move(position.record, int(short)))
            captures = not move & 1 << 15 and position.piece_on(move & 127) != 0
            facts = (IN_CHECK if board.is_in_check() else 0) | (CAPTURES if captures else 0)
            facts |= PROMOTES if move_to_usi(move).endswith("+") else 0
            assert int(walked.facts[i]) == facts
            assert bool(walked.quiet[i]) == (facts == 0 and abs(int(game.scores[i])) < QUIET_SCORE)
            facts_seen |= facts
            assert int(walked.keys[i]) == position.key
            assert int(walked.outcomes[i]) == (game.result if position.turn == 0 else -game.result)
            position.push(move)
    assert facts_seen == IN_CHECK | CAPTURES | PROMOTES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0" * 31, "31 bytes"),
        (b"\xff" * 32, "a king on square 127"),
        (b"\0" * 32, "a king on square 0"),
        (packed(Position.startpos())[:-1] + b"\xff", "."),
    ],
)
def test_what_is_no_position_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(PackedError, match=words):
        unpacked_position(data)
    assert unpack(packed(Position.startpos())).turn == 0


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
    assert facts["kept"] == sum(int(walked.quiet.sum()) for shard in shards for walked in walk(shard))
    assert facts["black_wins"] == sum(game.result == 1 for game in games)
    assert facts["black_wins"] + facts["draws"] + facts["white_wins"] == 16 == sum(facts["ends"].values())
    assert sum(row["positions"] for row in facts["scores"]) == positions
    assert facts["length"]["longest"] == max(len(game.moves) for game in games)
    assert facts["bytes_per_position"] == sum(len(shard.to_bytes()) for shard in shards) / positions
    tally.add(shards[0])
    assert tally.facts()["duplicate_share"] > facts["duplicate_share"] + 0.2, "the same games again"
