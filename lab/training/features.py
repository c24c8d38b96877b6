"""Tables from a record's numbers (`lab.training.replay`) to rows of a feature set; and rows that share weight.

A *factor* is an extra row that is added to each row of a group while a net is trained. Facts about a piece that hold
for every square of the own king (HalfKP and its kin: "virtual P"), or for every square of the piece (K+P), are so
learned from all positions that have it. In the file each row includes its factor's weights: the evaluator does not know
factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.walk import PIECES
from worker.nnue.features import (
    BOARD_BASE,
    FEATURE_SETS,
    HAND_BASE,
    K_A2,
    K_P,
    PIECE_NUMBERS,
    FeatureSet,
    KingRule,
    board_number,
    hand_number,
    king_block,
    mirrored_square,
    mirrors,
)
from worker.shogi.pieces import KING, MAX_IN_GAME, SQUARES, WHITE

TRAINABLE: Final = {
    name: found
    for name, found in FEATURE_SETS.items()
    if found.king_rule is not KingRule.RELATIVE and found is not K_A2 and found.attack_classes == 1
}
"""Feature sets by name in which every piece except the kings has one row, and a king at most one. Squares relative to
the king exclude hands, and HalfKPE9's rows depend on attacks."""

_MIRRORED: Final = np.uint64(1 << 63)
_MIRROR: Final = np.array([mirrored_square(square) for square in range(SQUARES)])
"""Each square's index after left and right are exchanged."""
_BOARD_START: Final = min(first for pair in BOARD_BASE.values() for first in pair)
"""The first number of a piece on the board; from there, 81 squares for each piece of each side."""


@dataclass(frozen=True)
class RowTables:
    """The tables for `lab.training.replay.write_rows`, which describes the arrays."""

    flip: npt.NDArray[np.uint16]
    planes: npt.NDArray[np.int32]
    blocks: npt.NDArray[np.uint64]
    active: int


def row_tables(features: FeatureSet) -> RowTables:
    """The tables of a feature set. Raises ValueError: it is not one of `TRAINABLE`."""
    if features.name not in TRAINABLE:
        raise ValueError(f"features {features.name}: expected one of {', '.join(TRAINABLE)}")
    flip = np.zeros(K_P.dimensions, np.uint16)
    planes = np.zeros((2, K_P.dimensions), np.int32)
    for colour in (0, WHITE):
        for kind in (*BOARD_BASE, KING):
            piece = colour << 4 | kind
            for sq in range(SQUARES):
                number = board_number(K_P, 0, piece, sq)
                flip[number] = board_number(K_P, 1, piece, sq)
                for mirrored in (False, True):
                    planes[int(mirrored), number] = board_number(features, 0, piece, sq, mirrored)
        for kind in HAND_BASE:
            number = hand_number(K_P, 0, colour, kind)
            for index in range(MAX_IN_GAME[kind]):
                flip[number + index] = hand_number(K_P, 1, colour, kind) + index
                planes[:, number + index] = hand_number(features, 0, colour, kind) + index
    blocks = np.array([king_block(features, sq, 0) for sq in range(SQUARES)], np.uint64)
    blocks |= np.array([mirrors(features, sq, 0) for sq in range(SQUARES)]) * _MIRRORED
    return RowTables(flip, planes, blocks, PIECES if features.king_planes else PIECES - 2)


def mirrored_tables(tables: RowTables) -> RowTables:
    """The tables that give each record the rows of its mirrored position.

    The rules do not distinguish left and right: a mirrored position has the same value, so each game teaches twice.
    """
    numbers = np.arange(K_P.dimensions)
    for first in range(_BOARD_START, K_P.dimensions, SQUARES):
        numbers[first : first + SQUARES] = first + _MIRROR
    return RowTables(
        tables.flip, np.ascontiguousarray(tables.planes[:, numbers]), tables.blocks[_MIRROR], tables.active
    )


def factors(features: FeatureSet) -> npt.NDArray[np.int64]:
    """The factor of each row, int64 [dimensions]."""
    if features.king_rule is not KingRule.NOTHING:
        return np.arange(features.dimensions, dtype=np.int64) % features.block_rows
    starts = sorted(
        {0, PIECE_NUMBERS, PIECE_NUMBERS + SQUARES}
        | {first for bases in (HAND_BASE, BOARD_BASE) for pair in bases.values() for first in pair}
    )
    found: npt.NDArray[np.int64] = np.searchsorted(starts, np.arange(features.dimensions), "right") - 1
    return found
