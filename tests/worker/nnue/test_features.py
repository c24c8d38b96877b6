"""Feature numbers are the field's."""

from __future__ import annotations

import pytest

from worker.nnue.features import (
    BLOCKS_OFFSET,
    FEATURE_SETS,
    HALF_KP,
    HANDS_OFFSET,
    K_P,
    PIECE_NUMBERS,
    FeatureSet,
    active_rows,
    board_number,
    tables,
)
from worker.shogi import Position
from worker.shogi.pieces import GOLD, KING, LANCE, PAWN, PRO_LANCE, ROOK, SILVER, square


def rows(features: FeatureSet, perspective: int, position: Position) -> list[int]:
    board = [position.piece_on(sq) for sq in range(81)]
    return list(active_rows(features, perspective, board, [position.hand(0), position.hand(1)], position.record.ksq))


def test_dimensions() -> None:
    assert PIECE_NUMBERS == 1548
    assert K_P.dimensions == 1710
    assert HALF_KP.dimensions == 125388
    assert set(FEATURE_SETS) == {"K+P", "HalfKP(Friend)"}


@pytest.mark.parametrize(
    ("perspective", "piece", "sq", "number"),
    [
        (0, PAWN, square(7, 7), 90 + 60),
        (1, PAWN, square(7, 7), 171 + 80 - 60),
        (0, 16 | LANCE, square(1, 1), 333),
        (0, GOLD, 0, 738),
        (0, PRO_LANCE, 0, 738),
        (1, 16 | ROOK, square(8, 2), 1224 + 80 - square(8, 2)),
        (0, KING, square(5, 9), 1548 + 44),
        (0, 16 | KING, square(5, 1), 1548 + 81 + 36),
        (1, 16 | KING, square(5, 1), 1548 + 44),
    ],
)
def test_board_numbers(perspective: int, piece: int, sq: int, number: int) -> None:
    assert board_number(K_P, perspective, piece, sq) == number
    if piece & 15 != KING:
        assert board_number(HALF_KP, perspective, piece, sq) == number


def test_startpos_looks_the_same_to_both() -> None:
    position = Position.startpos()
    assert sorted(rows(K_P, 0, position)) == sorted(rows(K_P, 1, position))
    assert len(rows(K_P, 0, position)) == 40
    assert len(rows(HALF_KP, 0, position)) == 38
    assert min(rows(HALF_KP, 0, position)) >= square(5, 9) * 1548


def test_pieces_in_hand_add_up() -> None:
    position = Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b 2P3g 1")
    assert set(rows(K_P, 0, position)) == {1, 2, 74, 75, 76, 1548 + 44, 1548 + 81 + 36}
    assert set(rows(K_P, 1, position)) == {20, 21, 69, 70, 71, 1548 + 44, 1548 + 81 + 36}


def test_a_missing_king_counts_as_square_0() -> None:
    position = Position.from_sfen("4k4/9/9/9/9/9/9/9/9 b P 1")
    assert rows(HALF_KP, 0, position) == [1]
    assert rows(HALF_KP, 1, position) == [44 * 1548 + 20]


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=str)
def test_no_two_things_share_a_number(features: FeatureSet) -> None:
    """Besides the gold movers, which do."""
    table = tables(features)
    pieces = table[:HANDS_OFFSET].view("i2").reshape(2, 32, 81)
    hands = table[HANDS_OFFSET:BLOCKS_OFFSET].view("i2").reshape(2, 16)
    kinds = [*range(PAWN, KING + 1), 13, 14]
    for perspective in range(2):
        board = pieces[perspective][[colour << 4 | kind for colour in (0, 1) for kind in kinds]]
        used = board[board != 0].tolist() + hands[perspective][hands[perspective] != 0].tolist()
        assert len(used) == len(set(used)) == 20 * 81 - (162 if features is HALF_KP else 0) + 14
        assert (pieces[perspective][GOLD] == pieces[perspective][8 | SILVER]).all()
