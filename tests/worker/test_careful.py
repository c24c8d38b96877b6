"""The move by material alone."""

from __future__ import annotations

import random

import pytest

from worker.careful import careful_move
from worker.shogi import Position, move_to_usi


def careful(sfen: str, *only: str) -> str:
    position = Position.from_sfen(sfen)
    move = move_to_usi(careful_move(position, only))
    assert position.sfen() == Position.from_sfen(sfen).sfen()
    return move


def test_a_hanging_piece_is_taken_and_mate_goes_first() -> None:
    assert careful("4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1") == "5g5d"
    assert careful("8k/9/8P/9/9/9/4r4/4R4/4K4 b G 1") == "G*1b"


def test_an_attacked_piece_is_saved() -> None:
    position = Position.from_sfen("4k4/9/9/1r7/9/9/9/1B7/8K b - 1")
    position.push(careful_move(position))
    assert not [move for move in position.legal_moves() if position.piece_on(move & 127)]


def test_a_defended_piece_is_not_taken_by_a_dearer_one() -> None:
    sfen = "4k4/9/9/3gp4/9/9/4R4/9/3K5 b - 1"  # a rook for a pawn that a gold defends
    assert careful(sfen) != "5g5d"
    assert careful(sfen.replace("3gp4", "4p4")) in ("5g5d", "5g5d+")


def test_only_the_given_moves() -> None:
    sfen = "4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"
    assert careful(sfen, "6i6h", "6i7h") in ("6i6h", "6i7h")
    with pytest.raises(ValueError, match="no legal move"):
        careful(sfen, "1a1b")
    with pytest.raises(ValueError, match="no legal move"):
        careful("8k/8G/8P/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 2")


def test_it_is_legal_anywhere_and_changes_nothing() -> None:
    rng = random.Random(1)
    for _ in range(3):
        position = Position.startpos()
        for _ in range(120):
            moves = position.legal_moves()
            if not moves:
                break
            before = position.sfen(), position.key, position.history
            assert position.is_legal(careful_move(position))
            assert (position.sfen(), position.key, position.history) == before
            position.push(rng.choice(moves))
