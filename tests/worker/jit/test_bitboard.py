"""Boards of one square, and whether a square is on a board, compared with Python's ints."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from worker.jit import bits, jit
from worker.jit.bits import bitboard, high, holds, low, single
from worker.shogi.pieces import SQUARES


@jit()
def words_of(square: int) -> Any:
    board = single(square)
    return low(board), high(board)


@jit()
def has(low_word: Any, high_word: Any, square: int) -> bool:
    return holds(bitboard(low_word, high_word), square)


def test_the_board_of_one_square() -> None:
    for square in range(SQUARES):
        low_word, high_word = words_of(np.int64(square))
        assert int(np.uint64(low_word)) | int(np.uint64(high_word)) << 64 == 1 << square


def test_a_board_holds_its_squares_only() -> None:
    rng = random.Random(3)
    for _ in range(50):
        board = rng.getrandbits(SQUARES)
        words = np.uint64(board & (2**64 - 1)), np.uint64(board >> 64)
        assert [has(*words, np.int64(square)) for square in range(SQUARES)] == [
            bool(board >> square & 1) for square in range(SQUARES)
        ]


@jit()
def toward_zero(value, divisor):  # type: ignore[no-untyped-def]
    return bits.toward_zero(value, divisor)


@pytest.mark.parametrize(("value", "quotient"), [(-1, 0), (-12_000, -1), (11_999, 0), (12_000, 1), (0, 0)])
def test_a_fraction_is_dropped_on_both_sides_of_zero(value: int, quotient: int) -> None:
    """Floor division would make a whole ply of reduction out of a history of -1."""
    assert toward_zero(value, 12_000) == quotient
