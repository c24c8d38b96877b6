"""The field's records, against rsshogi, which reads and writes them too."""

from __future__ import annotations

import numpy as np
import pytest
from rsshogi.core import Board

from lab.selfplay.positions import PACKED_SFEN_VALUE, packed_records, walk
from lab.selfplay.shard import PackedError, unpack, unpacked_position
from lab.selfplay.walk import CAPTURES, IN_CHECK, PROMOTES, QUIET_SCORE, pack, whole_move
from tests.lab.selfplay.games import made
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


def test_whole_games_are_exported_as_the_field_writes_them() -> None:
    shard = made(games=8, entering=0.5)
    records = np.frombuffer(b"".join(packed_records(shard, only_quiet=False)), PACKED_SFEN_VALUE)
    assert len(records) == shard.header["positions"]
    at = 0
    facts_seen = 0
    for walked in walk(shard):
        game = walked.game
        position = unpacked_position(game.start, game.move_number)
        for i, short in enumerate(game.moves):
            record = records[at]
            board = Board(position.sfen())
            move = int(whole_move(position.record, int(short)))
            captures = not move & 1 << 15 and position.piece_on(move & 127) != 0
            facts = (IN_CHECK if board.is_in_check() else 0) | (CAPTURES if captures else 0)
            facts |= PROMOTES if move_to_usi(move).endswith("+") else 0
            assert int(walked.facts[i]) == facts
            facts_seen |= facts
            assert int(walked.keys[i]) == position.key
            outcome = game.result if position.turn == 0 else -game.result
            assert int(record["game_result"]) == outcome
            assert int(record["score"]) == int(game.scores[i])
            assert int(record["game_ply"]) == position.move_number
            board.set_packed_sfen(record["sfen"].tobytes())
            assert board.to_sfen().split()[:3] == position.sfen().split()[:3]
            usi = move_to_usi(move)
            theirs = next(m for m in board.legal_moves() if m.to_usi() == usi)
            value = board.to_psv(theirs, score=int(game.scores[i]), game_ply=position.move_number)
            (value,) = np.frombuffer(value, PACKED_SFEN_VALUE)
            assert all(value[name] == record[name] for name in ("score", "move", "game_ply"))
            assert unpacked_position(value["sfen"].tobytes()).key == position.key
            position.push(move)
            at += 1
    assert facts_seen == IN_CHECK | CAPTURES | PROMOTES


def test_quiet_positions_are_those_the_filter_says() -> None:
    shard = made(games=8)
    quiet = np.frombuffer(b"".join(packed_records(shard)), PACKED_SFEN_VALUE)
    expected = sum(
        int(((walked.facts == 0) & (abs(walked.game.scores.astype(int)) < QUIET_SCORE)).sum()) for walked in walk(shard)
    )
    assert 0 < len(quiet) == expected < shard.header["positions"]
    assert np.abs(quiet["score"].astype(int)).max() < QUIET_SCORE
    assert not any(unpacked_position(record["sfen"].tobytes()).in_check() for record in quiet[:200])


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
