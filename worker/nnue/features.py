"""Input features of the networks: which rows of the feature transformer a position switches on.

A *perspective* is the colour that looks at the board; squares are turned by 180 degrees for white. The pieces besides
the kings have the numbers 1..1547 of Bonanza's piece list ("BonaPiece"): first the pieces in hand (the n-th pawn in
hand switches on one row more), then, for each board piece, 81 squares of the own and 81 of the enemy's. Promoted pawns,
lances, knights and silvers count as golds. Number 0 belongs to no piece, so no position ever switches on its row: the
searcher keeps zeros there and uses it for "this piece has no feature".

Sources: YaneuraOu ``evaluate.h`` and ``eval/nnue/features``; checked against ``shared/nets/kp256_reference.bin``, whose
rows that no position can reach are all zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from worker.jit.memory import aligned_zeros
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
    SQUARES,
)

NO_FEATURE: Final = 0
"""The piece number that stands for nothing."""

HAND_BASE: Final = {
    PAWN: (1, 20),
    LANCE: (39, 44),
    KNIGHT: (49, 54),
    SILVER: (59, 64),
    GOLD: (69, 74),
    BISHOP: (79, 82),
    ROOK: (85, 88),
}
"""Number of the first piece in hand by type: (own, enemy's). Plus n for the (n+1)-th."""

_BOARD_ORDER: Final = (
    (PAWN,),
    (LANCE,),
    (KNIGHT,),
    (SILVER,),
    (GOLD, PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER),
    (BISHOP,),
    (HORSE,),
    (ROOK,),
    (DRAGON,),
)
_HAND_END: Final = 90
BOARD_BASE: Final = {
    kind: (_HAND_END + 2 * SQUARES * place, _HAND_END + 2 * SQUARES * place + SQUARES)
    for place, kinds in enumerate(_BOARD_ORDER)
    for kind in kinds
}
"""Number of a board piece on its square 0 by type: (own, enemy's)."""

PIECE_NUMBERS: Final = _HAND_END + 2 * SQUARES * len(_BOARD_ORDER)
"""1548: all pieces besides the kings, 0 included."""


@dataclass(frozen=True)
class FeatureSet:
    """A kind of input.

    Attributes:
        name: as the architecture string gives it.
        dimensions: rows of the feature transformer.
        hash: the word by which the field's programs know it (``kHashValue``).
        king_rows: whether each square of the own king has a block of `PIECE_NUMBERS` rows of its own, so that a move of
            the own king changes every row; otherwise the kings are pieces like others, numbered from `PIECE_NUMBERS`.
    """

    name: str
    dimensions: int
    hash: int
    king_rows: bool


_MASK32: Final = 0xFFFFFFFF
_HASH_K: Final = 0xD3CEE169
_HASH_P: Final = 0x764CFB4B

K_P: Final = FeatureSet("K+P", PIECE_NUMBERS + 2 * SQUARES, _HASH_K ^ (_HASH_P << 1 & _MASK32), king_rows=False)
HALF_KP: Final = FeatureSet("HalfKP(Friend)", SQUARES * PIECE_NUMBERS, 0x5D69D5B8, king_rows=True)

FEATURE_SETS: Final = {features.name: features for features in (K_P, HALF_KP)}


def oriented(square: int, perspective: int) -> int:
    """A square as ``perspective`` sees it."""
    return square if perspective == 0 else SQUARES - 1 - square


def king_block(features: FeatureSet, king_square: int, perspective: int) -> int:
    """The row at which the numbers count for this own king's square (board's view; -1, no king, counts as square 0)."""
    return oriented(max(king_square, 0), perspective) * PIECE_NUMBERS if features.king_rows else 0


def board_number(features: FeatureSet, perspective: int, piece: int, square: int) -> int:
    """The number of ``piece`` (code with colour) on ``square`` (board's view), `NO_FEATURE` where it has none."""
    kind, enemy = piece & 15, int(piece >> 4 != perspective)
    seen = oriented(square, perspective)
    if kind == KING:
        return NO_FEATURE if features.king_rows else PIECE_NUMBERS + enemy * SQUARES + seen
    return BOARD_BASE[kind][enemy] + seen if kind in BOARD_BASE else NO_FEATURE


def hand_number(perspective: int, colour: int, kind: int, index: int) -> int:
    """The number of the ``index``-th (from 0) piece of ``kind`` in the hand of ``colour``."""
    return HAND_BASE[kind][int(colour != perspective)] + index


def active_rows(
    features: FeatureSet,
    perspective: int,
    board: Sequence[int],
    hands: Sequence[Sequence[int]],
    king_squares: Sequence[int],
) -> Iterator[int]:
    """Every row that a position switches on.

    Args:
        board: piece code by square (81 or more entries are read as 81).
        hands: counts by colour and piece type.
        king_squares: by colour, -1 for none.
    """
    block = king_block(features, king_squares[perspective], perspective)
    for square in range(SQUARES):
        number = board_number(features, perspective, board[square], square) if board[square] else NO_FEATURE
        if number != NO_FEATURE:
            yield block + number
    for colour in range(2):
        for kind in HAND_BASE:
            for index in range(hands[colour][kind]):
                yield block + hand_number(perspective, colour, kind, index)


# ---- The same as flat tables for compiled code. Offsets in bytes from the start of the buffer of `tables`.

PIECES_OFFSET: Final = 0
"""int16 [perspective 2][piece code 32][square 81]: number of a board piece."""
HANDS_OFFSET: Final = PIECES_OFFSET + 2 * 32 * SQUARES * 2
"""int16 [perspective 2][colour * 8 + type 16]: number of the first piece of a type in hand."""
BLOCKS_OFFSET: Final = HANDS_OFFSET + 2 * 16 * 2
"""int32 [perspective 2][own king's square 81]: first row of the king's block."""
TABLES_BYTES: Final = BLOCKS_OFFSET + 2 * SQUARES * 4


def tables(features: FeatureSet) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The lookup tables of a feature set in one 64-byte aligned buffer, uint8 [`TABLES_BYTES`]."""
    buffer = aligned_zeros(TABLES_BYTES, np.uint8)
    pieces = buffer[PIECES_OFFSET:HANDS_OFFSET].view(np.int16).reshape(2, 32, SQUARES)
    hands = buffer[HANDS_OFFSET:BLOCKS_OFFSET].view(np.int16).reshape(2, 16)
    blocks = buffer[BLOCKS_OFFSET:].view(np.int32).reshape(2, SQUARES)
    for perspective in range(2):
        for square in range(SQUARES):
            blocks[perspective, square] = king_block(features, square, perspective)
            for piece in range(32):
                pieces[perspective, piece, square] = board_number(features, perspective, piece, square)
        for colour in range(2):
            for kind in HAND_BASE:
                hands[perspective, colour * 8 + kind] = hand_number(perspective, colour, kind, 0)
    return buffer
