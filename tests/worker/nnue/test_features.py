"""Feature numbers are the standard ones, and the tables of compiled code give them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from worker.nnue.features import (
    BOARD_BASE,
    FEATURE_SETS,
    HALF_KA1,
    HALF_KA2,
    HALF_KA_HM1,
    HALF_KA_HM2,
    HALF_KP,
    HALF_KP_VM,
    HALF_KPE9,
    HALF_RELATIVE_KP,
    HAND_BASE,
    HANDS_OFFSET,
    K_P,
    KINGS_OFFSET,
    PIECE_NUMBERS,
    FeatureSet,
    board_number,
    king_block,
    mirrors,
    tables,
)
from worker.nnue.reference import active_rows, attackers, make_index, piece_list
from worker.shogi import Position
from worker.shogi.pieces import GOLD, KING, LANCE, MAX_IN_GAME, PAWN, PRO_LANCE, ROOK, SILVER, square

NO_HANDS = ((0,) * 8, (0,) * 8)
every_set = pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=lambda features: features.name)


def rows(features: FeatureSet, perspective: int, position: Position) -> list[int]:
    hands = (position.hand(0), position.hand(1))
    return active_rows(features, perspective, position.record.board, hands, position.record.ksq).tolist()


def test_dimensions() -> None:
    assert PIECE_NUMBERS == 1548
    assert {name: features.dimensions for name, features in FEATURE_SETS.items()} == {
        "K+P": 1710,
        "HalfKP(Friend)": 125388,
        "HalfKP_vm(Friend)": 69660,
        "HalfRelativeKP(Friend)": 5202,
        "HalfKA1(Friend)": 138510,
        "HalfKA2(Friend)": 131949,
        "HalfKA_hm1(Friend)": 76950,
        "HalfKA_hm2(Friend)": 73305,
        "K+A2": 1791,
        "HalfKPE9(Friend)": 1128492,
    }


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


@pytest.mark.parametrize(
    ("features", "piece", "sq", "row"),
    [
        (HALF_KP, PAWN, square(7, 6), 1548 * 70 + 90 + 59),
        (HALF_KP_VM, PAWN, square(7, 6), 1548 * 16 + 90 + 23),
        (HALF_RELATIVE_KP, PAWN, square(7, 6), 17 * 7 + 6),
        (HALF_RELATIVE_KP, 16 | ROOK, square(9, 9), 289 * 15 + 17 * 9 + 9),
        (HALF_KA1, 16 | KING, square(5, 1), 1710 * 70 + 1629 + 36),
        (HALF_KA2, 16 | KING, square(5, 1), 1629 * 70 + 1548 + 36),
        (HALF_KA2, KING, square(8, 8), 1629 * 70 + 1548 + 70),
        (HALF_KA_HM1, 16 | KING, square(6, 1), 1710 * 16 + 1629 + 27),
        (HALF_KA_HM2, 16 | KING, square(6, 1), 1629 * 16 + 1548 + 27),
    ],
)
def test_rows_under_a_king_on_8h(features: FeatureSet, piece: int, sq: int, row: int) -> None:
    """Worked out by hand from YaneuraOu's formulas."""
    king = square(8, 8)
    number = board_number(features, 0, piece, sq, mirrors(features, king, 0))
    assert king_block(features, king, 0) + number == row


def test_attackers() -> None:
    """Of each square, with kings and one's own pieces; sliders do not see through others."""
    position = Position.from_sfen("4k4/9/4p4/9/4l4/3+B5/4R1S2/9/K8 b Pg 1")
    black, white = attackers(position.record.board).tolist()
    assert [white[square(5, rank)] for rank in range(1, 10)] == [0, 1, 0, 1, 0, 1, 1, 0, 0]
    assert [black[square(5, rank)] for rank in range(1, 10)] == [0, 0, 0, 0, 2, 2, 1, 1, 1]
    assert [black[square(file, 7)] for file in range(9, 0, -1)] == [1, 1, 2, 2, 1, 1, 1, 0, 0]
    assert sum(white) == 5 + 1 + 2


def test_rows_by_attackers() -> None:
    """Worked out by hand: 3 * own + enemy attackers, two at most, and 0 in hand."""
    position = Position.from_sfen("4k4/9/9/9/4l4/9/4R4/3GSG3/4K4 b Pg 1")
    numbers = {
        (333 + square(5, 5), 3 * 1 + 0),  # the lance
        (1224 + square(5, 7), 3 * 2 + 1),  # the rook, which two golds and the silver guard
        (576 + square(5, 8), 3 * 2 + 0),
        (738 + square(6, 8), 3 * 1 + 0),
        (738 + square(4, 8), 3 * 1 + 0),
        (1, 0),
        (74, 0),
    }
    assert set(rows(HALF_KPE9, 0, position)) == {
        1548 * (81 * number + square(5, 9)) + piece for piece, number in numbers
    }


def test_no_two_things_share_a_number() -> None:
    """Except the gold movers, which share theirs."""
    board = [piece for colour in (0, 16) for piece in range(colour, colour + 16) if piece & 15 in (*BOARD_BASE, KING)]
    for perspective in range(2):
        numbers = [board_number(K_P, perspective, piece, sq) for piece in board for sq in range(81)]
        held = [base + n for kind, bases in HAND_BASE.items() for base in bases for n in range(MAX_IN_GAME[kind])]
        assert len(set(numbers)) == 20 * 81
        assert len(set(numbers + held)) == 20 * 81 + 2 * 38
        assert board_number(K_P, perspective, GOLD, 7) == board_number(K_P, perspective, 8 | SILVER, 7)


def looked_up(features: FeatureSet) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows as compiled code finds them: of board pieces [perspective][king's square][piece code][square], and of the
    first piece of a type in hand [perspective][king's square][colour * 8 + type]."""
    table = tables(features)
    numbers = table[:HANDS_OFFSET].view(np.int16).astype(np.int64)
    hands = table[HANDS_OFFSET:KINGS_OFFSET].view(np.int16).astype(np.int64).reshape(2, 1, 16)
    kings = table[KINGS_OFFSET:].view(np.int32).reshape(2, 81, 2)
    board = kings[..., :1] + numbers[kings[..., 1:] // 2 + np.arange(32 * 81)]
    return board.reshape(2, 81, 32, 81), kings[..., :1] + hands


def things() -> Iterator[tuple[npt.NDArray[np.int8], list[list[int]]]]:
    """Boards full of one piece, and hands full of one."""
    for piece in (colour << 4 | kind for colour in range(2) for kind in (*BOARD_BASE, KING)):
        yield np.full(81, piece, np.int8), [[0] * 8, [0] * 8]
    for holder in (colour * 8 + kind for colour in range(2) for kind in HAND_BASE):
        hands = [0] * 16
        hands[holder] = MAX_IN_GAME[holder & 7]
        yield np.zeros(81, np.int8), [hands[:8], hands[8:]]


@every_set
def test_tables_give_the_rows_of_the_field(features: FeatureSet) -> None:
    """For every square of the own king, every piece on every square and in hand; rows of zeros if it has none."""
    board_rows, hand_rows = looked_up(features)
    # Of K+A2 a king has one row in memory too; the rows of HalfKPE9 are those of pieces that nothing attacks.
    name = {"K+A2": "K+P", "HalfKPE9(Friend)": "HalfKP(Friend)"}.get(features.name, features.name)
    zero = np.zeros(features.rows, bool)
    zero[features.zero_rows] = True
    for perspective in range(2):
        for board, hands in things():
            pieces = piece_list(perspective, board, hands)
            holder, held = next(((i, n) for i, n in enumerate(hands[0] + hands[1]) if n), (0, 0))
            for king in range(81):
                if held:
                    found = hand_rows[perspective, king, holder] + np.arange(held)
                else:
                    found = board_rows[perspective, king, board[0]]
                wanted = make_index(name, king if perspective == 0 else 80 - king, pieces)
                if len(wanted):
                    assert found.tolist() == wanted.tolist()
                    assert not zero[found].any()
                else:
                    assert zero[found].all()
