"""Input features of the networks: the rows of the feature transformer that a position activates.

A *perspective* is the colour that looks at the board; squares are rotated by 180 degrees for white. Each piece
activates the row "block of the own king + number of the piece".

The pieces other than the kings have the numbers 1..1547 of Bonanza's piece list ("BonaPiece"): first the pieces in hand
(the n-th pawn in hand activates one more row), then, for each board piece, 81 squares of one's own and 81 of the
enemy's. Promoted pawns, lances, knights and silvers count as golds. If kings are ordinary pieces, their squares follow
from 1548. Number 0 belongs to no piece, so no position ever activates its row: the searcher keeps zeros there and uses
it for "this piece has no feature".

The effect of the own king's square depends on the feature set (`KingRule`). If boards are mirrored, pieces have other
numbers when the king is on files 6 to 9. If squares are relative to the king, a piece's number is its row for a king in
the corner 9九; other king squares shift all pieces by the same number of rows, and pieces in hand have no feature.

Sources: YaneuraOu ``evaluate.h``, ``eval/nnue/features`` (``half_kp``, ``half_kp_vm``, ``half_ka1``, ``half_ka2``,
``half_ka_hm1``, ``half_ka_hm2``, ``half_kpe9``, ``half_relative_kp``, ``k``, ``p``) and
``architectures/nnue_arch_gen.py``; checked against ``shared/nets/kp256_reference.bin``, in which the rows that no
position can reach are all zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

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


_FILE: Final = 9
"""Number of squares of a file; also the number of ranks and of files of the board."""
_MIRRORED_FILES: Final = 5
"""Files on which an own king stands after mirroring: 1..5."""
_SPAN: Final = 17
"""Number of file (or rank) distances between a piece and a king: -8..8."""
_MAX_IN_HAND: Final = 18


class KingRule(Enum):
    """The effect of the own king's square on the rows of the other pieces."""

    NOTHING = "one block of rows for all squares"
    SQUARE = "a block of rows for each square"
    MIRRORED = "a block for each square of files 1..5; the board is mirrored where the king stands on files 6..9"
    RELATIVE = "pieces on the board have rows by their distance from the king, in files and ranks"


@dataclass(frozen=True)
class FeatureSet:
    """A kind of input features.

    Attributes:
        name: as in the architecture string.
        hash: the word that identifies it in network files (``kHashValue``).
        king_rule: the effect of the own king's square.
        king_planes: 0: kings are not pieces; 1: both kings share 81 numbers; 2: own king, then the enemy's; 3: `K_A2`.
        attack_classes: 9: a piece on the board has one of nine rows, by the number of attackers of its square
            (`worker.nnue.attacked`); 1: it has one row.
    """

    name: str
    hash: int
    king_rule: KingRule
    king_planes: int
    attack_classes: int = 1

    @property
    def king_rows(self) -> bool:
        """Whether a move of the own king changes every row."""
        return self.king_rule is not KingRule.NOTHING

    @property
    def block_rows(self) -> int:
        """Number of piece numbers, which is the number of rows in a block."""
        if self.king_rule is KingRule.RELATIVE:
            return 2 * len(_BOARD_ORDER) * _SPAN * _SPAN
        return PIECE_NUMBERS + self.king_planes * SQUARES

    @property
    def class_rows(self) -> int:
        """Number of rows of all blocks, once for each class of attacks."""
        blocks = {KingRule.SQUARE: SQUARES, KingRule.MIRRORED: _MIRRORED_FILES * _FILE}
        return self.block_rows * blocks.get(self.king_rule, 1)

    @property
    def dimensions(self) -> int:
        """Rows of the feature transformer in the file."""
        return self.class_rows * self.attack_classes

    @property
    def no_feature(self) -> int:
        """The piece number for "no feature", with any king block and any index in hand."""
        return self.dimensions if self.king_rule is KingRule.RELATIVE else 0

    @property
    def rows(self) -> int:
        """Rows of the feature transformer in memory: those of the file and, if needed, rows for `no_feature`."""
        if self.king_rule is KingRule.RELATIVE:
            return self.no_feature + king_block(self, 0, 0) + _MAX_IN_HAND
        return self.dimensions

    @property
    def zero_rows(self) -> slice:
        """The rows that are zeros in memory, so that `no_feature` adds nothing."""
        return slice(self.no_feature, None, None if self.king_rule is KingRule.RELATIVE else self.block_rows)


_MASK32: Final = 0xFFFFFFFF
_HASH_K: Final = 0xD3CEE169
_HASH_P: Final = 0x764CFB4B
_HASH_A2: Final = 0xA20DCB9B

K_P: Final = FeatureSet("K+P", _HASH_K ^ (_HASH_P << 1 & _MASK32), KingRule.NOTHING, king_planes=2)
K_A2: Final = FeatureSet(
    "K+A2", _HASH_K ^ (_HASH_A2 << 1 & _MASK32) ^ (_HASH_A2 >> 31), KingRule.NOTHING, king_planes=3
)
"""As K+P. In the file both kings also share 81 rows, which stand before those of each (`merged_rows`)."""
HALF_KP: Final = FeatureSet("HalfKP(Friend)", 0x5D69D5B8, KingRule.SQUARE, king_planes=0)
HALF_KPE9: Final = FeatureSet("HalfKPE9(Friend)", HALF_KP.hash, KingRule.SQUARE, king_planes=0, attack_classes=9)
HALF_KP_VM: Final = FeatureSet("HalfKP_vm(Friend)", 0x0B6B1D9A, KingRule.MIRRORED, king_planes=0)
HALF_RELATIVE_KP: Final = FeatureSet("HalfRelativeKP(Friend)", 0xF9180918, KingRule.RELATIVE, king_planes=0)
HALF_KA1: Final = FeatureSet("HalfKA1(Friend)", 0x5F134CB8, KingRule.SQUARE, king_planes=2)
HALF_KA2: Final = FeatureSet("HalfKA2(Friend)", 0x5F234CB8, KingRule.SQUARE, king_planes=1)
HALF_KA_HM1: Final = FeatureSet("HalfKA_hm1(Friend)", 0x7F134CB8, KingRule.MIRRORED, king_planes=2)
HALF_KA_HM2: Final = FeatureSet("HalfKA_hm2(Friend)", 0x7F234CB8, KingRule.MIRRORED, king_planes=1)

FEATURE_SETS: Final = {
    features.name: features
    for features in (
        K_P,
        HALF_KP,
        HALF_KP_VM,
        HALF_RELATIVE_KP,
        HALF_KA1,
        HALF_KA2,
        HALF_KA_HM1,
        HALF_KA_HM2,
        K_A2,
        HALF_KPE9,
    )
}


def merged_rows(rows: npt.NDArray[np.int16], features: FeatureSet) -> npt.NDArray[np.int16]:
    """The rows of a feature transformer in the file as they stand in memory: each piece has one.

    Of `K_A2`, a king's row is the sum of its two; it wraps around as an accumulator does. The last 81 rows are unused.
    """
    if features is not K_A2:
        return rows
    kings = PIECE_NUMBERS + SQUARES
    merged = rows.copy()
    merged[PIECE_NUMBERS:kings] = rows[PIECE_NUMBERS:kings] + rows[kings : kings + SQUARES]
    merged[kings : kings + SQUARES] = rows[PIECE_NUMBERS:kings] + rows[kings + SQUARES :]
    return merged


def oriented(square: int, perspective: int) -> int:
    """A square as ``perspective`` sees it."""
    return square if perspective == 0 else SQUARES - 1 - square


def mirrored_square(square: int) -> int:
    """A square with left and right exchanged."""
    return (_FILE - 1 - square // _FILE) * _FILE + square % _FILE


def mirrors(features: FeatureSet, king_square: int, perspective: int) -> bool:
    """Whether the board is mirrored under an own king on this square (board's view)."""
    return features.king_rule is KingRule.MIRRORED and oriented(king_square, perspective) >= _MIRRORED_FILES * _FILE


def king_block(features: FeatureSet, king_square: int, perspective: int) -> int:
    """The row to which piece numbers are added for an own king on this square (board's view)."""
    seen = oriented(king_square, perspective)
    match features.king_rule:
        case KingRule.NOTHING:
            return 0
        case KingRule.SQUARE:
            return seen * features.block_rows
        case KingRule.MIRRORED:
            return (
                mirrored_square(seen) if mirrors(features, king_square, perspective) else seen
            ) * features.block_rows
        case KingRule.RELATIVE:
            file, rank = divmod(seen, _FILE)
            return _SPAN * (_FILE - 1 - file) + _FILE - 1 - rank


def board_number(features: FeatureSet, perspective: int, piece: int, square: int, mirrored: bool = False) -> int:
    """The number of ``piece`` (code with colour) on ``square`` (board's view), or ``no_feature``.

    Args:
        mirrored: whether the own king's square mirrors the board (`mirrors`).
    """
    kind, enemy = piece & 15, int(piece >> 4 != perspective)
    seen = oriented(square, perspective)
    if mirrored:
        seen = mirrored_square(seen)
    if kind == KING and features.king_planes > 0:
        return PIECE_NUMBERS + min(enemy, features.king_planes - 1) * SQUARES + seen
    if kind not in BOARD_BASE:
        return features.no_feature
    base = BOARD_BASE[kind][enemy]
    if features.king_rule is not KingRule.RELATIVE:
        return base + seen
    file, rank = divmod(seen, _FILE)
    return (base - _HAND_END) // SQUARES * _SPAN * _SPAN + _SPAN * file + rank


def hand_number(features: FeatureSet, perspective: int, colour: int, kind: int) -> int:
    """The number of the first piece of ``kind`` in the hand of ``colour``; plus n for the (n+1)-th."""
    if features.king_rule is KingRule.RELATIVE:
        return features.no_feature
    return HAND_BASE[kind][int(colour != perspective)]


# ---- The same as flat tables for compiled code. Offsets are in bytes from the start of the buffer of `tables`.

PIECES_OFFSET: Final = 0
"""int16 [perspective 2][mirrored 2][piece code 32][square 81]: number of a board piece."""
HANDS_OFFSET: Final = PIECES_OFFSET + 2 * 2 * 32 * SQUARES * 2
"""int16 [perspective 2][colour * 8 + type 16]: number of the first piece of a type in hand."""
KINGS_OFFSET: Final = HANDS_OFFSET + 2 * 16 * 2
"""int32 [perspective 2][own king's square 81][2]: first row of its block, offset of its [piece code][square]."""
TABLES_BYTES: Final = KINGS_OFFSET + 2 * SQUARES * 2 * 4


def tables(features: FeatureSet) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The lookup tables of a feature set in one 64-byte aligned buffer, uint8 [`TABLES_BYTES`]."""
    buffer = aligned_zeros(TABLES_BYTES, np.uint8)
    pieces = buffer[PIECES_OFFSET:HANDS_OFFSET].view(np.int16).reshape(2, 2, 32, SQUARES)
    hands = buffer[HANDS_OFFSET:KINGS_OFFSET].view(np.int16).reshape(2, 16)
    kings = buffer[KINGS_OFFSET:].view(np.int32).reshape(2, SQUARES, 2)
    for perspective in range(2):
        for square in range(SQUARES):
            plane = 2 * perspective + mirrors(features, square, perspective)
            kings[perspective, square] = (
                king_block(features, square, perspective),
                PIECES_OFFSET + plane * pieces[0, 0].nbytes,
            )
            for piece in range(32):
                for mirrored in (False, True):
                    number = board_number(features, perspective, piece, square, mirrored)
                    pieces[perspective, int(mirrored), piece, square] = number
        for colour in range(2):
            for kind in HAND_BASE:
                hands[perspective, colour * 8 + kind] = hand_number(features, perspective, colour, kind)
    return buffer
