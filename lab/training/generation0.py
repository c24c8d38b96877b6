"""Generation 0: a hand-made network, the first teacher of `gougi learn`, which starts from nothing.

It is a K-P 256x2-32-32 network that adds up material and piece-square values. Nothing is trained and nothing is random:
the bytes are the same everywhere.

A sum becomes a network as follows. Let L be the sum of all values as a perspective sees them, in levels of 2
centipawns; the other perspective sees -L. All units of the transformer get the same weights and each its own bias, so
that unit j runs from 0 to 127 while L passes through the j-th range of 127 levels: a thermometer, whose column is L
plus a constant. The own column minus the enemy's is 2L. Each unit of the first hidden layer again covers one range of
that, 16 units for L and 16 for -L; the second layer passes them on; the output adds the former and subtracts the
latter. So opposite positions get exactly opposite values. Up to 3,048 centipawns the output is exactly L; beyond, up to
7,080, it is half as steep, so that in a won position more is still better.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import Architecture
from worker.nnue.features import BOARD_BASE, HAND_BASE, K_P, PIECE_NUMBERS
from worker.nnue.format import NetworkFile
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    MAX_IN_GAME,
    PAWN,
    ROOK,
    SILVER,
    SQUARES,
    square,
)

# ---- Values in centipawns. The network cannot distinguish promoted pawns, lances, knights and silvers from golds, so
# they have the gold's values too.

BOARD_VALUE: Final = {
    PAWN: 90,
    LANCE: 300,
    KNIGHT: 340,
    SILVER: 480,
    GOLD: 540,
    BISHOP: 800,
    ROOK: 960,
    KING: 0,
    HORSE: 1060,
    DRAGON: 1300,
}

HAND_VALUE: Final = {PAWN: 96, LANCE: 312, KNIGHT: 354, SILVER: 506, GOLD: 570, BISHOP: 848, ROOK: 1010}
"""Values of pieces in hand, higher than on the board: such a piece can be dropped anywhere."""
FIRST_PAWN_IN_HAND: Final = 20
"""Extra value of the first pawn: most drops that matter need just one."""

# fmt: off
# Added to the board value. Diagrams as black sees them: files 9 to 1 from left to right, ranks 1 to 9 from top to
# bottom. Black castles on the left.
SQUARE_VALUE: Final = {
    PAWN: (
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        ( 12,  12,  12,  12,  12,  12,  12,  12,  12),
        ( 16,  16,  16,  16,  16,  16,  16,  16,  16),
        ( 20,  20,  20,  20,  20,  20,  20,  30,  20),
        ( 12,  10,  12,  12,  12,  12,  12,  26,  12),
        ( 10,  -8,  22,   6,   2,   6,   8,  12,  10),
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
    ),
    LANCE: (
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        (-20, -20, -20, -20, -20, -20, -20, -20, -20),
        (-14, -14, -14, -14, -14, -14, -14, -14, -14),
        (-10, -10, -10, -10, -10, -10, -10, -10, -10),
        ( -8,  -8,  -8,  -8,  -8,  -8,  -8,  -8,  -8),
        ( -6,  -6,  -6,  -6,  -6,  -6,  -6,  -6,  -6),
        ( -4,  -4,  -4,  -4,  -4,  -4,  -4,  -4,  -4),
        ( -2,  -2,  -2,  -2,  -2,  -2,  -2,  -2,  -2),
        (  8,   8,   8,   8,   8,   8,   8,   8,   8),
    ),
    KNIGHT: (
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        ( -4,  12,  14,  14,  14,  14,  14,  12,  -4),
        (-14,   0,   4,   2,   2,   2,   4,   0, -14),
        (-20,  -6,  -2,  -4,  -4,  -4,  -2,  -6, -20),
        (-14,   2,   4,   4,   4,   4,   4,   2, -14),
        (-10,   6,  10,   8,   8,   8,  10,   6, -10),
        (-16,   0,   0,   0,   0,   0,   0,   0, -16),
        (-16,   0,   0,   0,   0,   0,   0,   0, -16),
    ),
    SILVER: (
        (-44, -34, -26, -24, -24, -24, -26, -34, -44),
        (-14,  -4,   4,   6,   6,   6,   4,  -4, -14),
        ( -4,   6,  14,  16,  16,  16,  14,   6,  -4),
        ( -2,   8,  16,  18,  18,  18,  16,   8,  -2),
        (  0,  10,  18,  20,  20,  20,  18,  12,   0),
        (  0,  12,  20,  20,  20,  22,  22,  12,   0),
        ( -4,  12,  24,  16,  16,  16,  14,   8,  -4),
        (-10,   6,  14,  10,  10,  10,   8,   2, -10),
        (-24, -12,  -6,  -4,  -4,  -4,  -6, -14, -24),
    ),
    GOLD: (
        (-34, -20, -14, -12, -12, -12, -14, -20, -34),
        ( -6,   6,  12,  16,  18,  16,  12,   6,  -6),
        ( -8,   4,  10,  14,  16,  14,  10,   4,  -8),
        (-28, -14, -10,  -8,  -8,  -8, -12, -18, -28),
        (-32, -18, -12, -10, -12, -14, -20, -26, -34),
        (-22,  -8,   0,   2,   0,  -4, -12, -18, -28),
        ( -8,   6,  14,  16,  10,   4,  -4, -10, -20),
        ( -4,  14,  30,  22,  18,  10,   2,  -4, -14),
        (-14,   2,   8,   8,   4,   2,  -6, -12, -22),
    ),
    BISHOP: (
        (-10,   0,   2,   4,   4,   4,   2,   0, -10),
        (-10,   0,   2,   4,   6,   4,   2,   0, -10),
        (-10,   2,   4,   6,   8,   6,   4,   2, -10),
        ( -4,   8,  10,  12,  14,  12,  10,   8,  -4),
        (  2,  12,  14,  16,  18,  16,  14,  12,   2),
        (  0,  10,  12,  14,  16,  14,  12,  10,   0),
        ( -2,   8,  12,  12,  14,  12,  10,   8,  -2),
        (-10,   0,   2,   4,   6,   4,   2,   0, -10),
        (-18,  -8,  -6,  -4,  -2,  -4,  -6,  -8, -18),
    ),
    ROOK: (
        ( 12,  12,  12,  12,  12,  12,  12,  12,  12),
        ( 14,  14,  14,  14,  14,  14,  14,  14,  14),
        ( 10,  10,  10,  10,  10,  10,  10,  10,  10),
        (  6,   8,   8,   8,   8,   8,  10,  12,   6),
        (  2,   4,   4,   4,   4,   4,   6,   8,   2),
        (  0,   2,   2,   2,   2,   2,   6,   8,   0),
        ( -8,  -6,  -8,  -8,  -8,  -8,  -8,   0,  -8),
        ( -8,   2,  -4,   2,   2,   4,   6,  14,  -4),
        (-10,  -6,  -8,  -6,  -6,  -4,  -2,   6,  -8),
    ),
    HORSE: (
        (-10,  -4,   0,   0,   0,   0,   0,  -4, -10),
        (  0,   6,  10,  10,  10,  10,  10,   6,   0),
        (  4,  10,  14,  14,  14,  14,  14,  10,   4),
        (  4,  10,  14,  14,  14,  14,  14,  10,   4),
        (  6,  12,  16,  16,  16,  16,  16,  12,   6),
        (  8,  14,  18,  18,  18,  18,  18,  14,   8),
        ( 10,  20,  22,  22,  20,  20,  20,  16,   8),
        ( 10,  18,  20,  20,  18,  16,  16,  12,   6),
        (  0,   8,  10,  10,   8,   6,   6,   2,  -4),
    ),
    DRAGON: (
        ( 24,  28,  30,  32,  32,  32,  30,  28,  24),
        ( 26,  32,  34,  36,  36,  36,  34,  32,  26),
        ( 22,  28,  30,  32,  32,  32,  30,  28,  22),
        ( 10,  14,  16,  18,  18,  18,  16,  14,  10),
        (  4,   8,  10,  12,  12,  12,  10,   8,   4),
        (  2,   6,   8,   8,   8,   8,   8,   6,   2),
        (  0,   4,   4,   4,   4,   4,   4,   4,   0),
        (  0,   0,   0,   0,   0,   0,   0,   0,   0),
        ( -6,   0,   0,   0,   0,   0,   0,   0,  -6),
    ),
    KING: (
        (-60, -60, -70, -80, -90, -80, -70, -60, -60),
        (-80, -80, -90,-100,-110,-100, -90, -80, -80),
        (-110,-120,-130,-140,-150,-140,-130,-120,-110),
        (-140,-150,-160,-170,-180,-170,-160,-150,-140),
        (-130,-140,-150,-160,-170,-160,-150,-140,-130),
        (-90,-100,-110,-120,-130,-120,-110,-100,  -90),
        (-30, -30, -40, -60, -70, -60, -50, -30,  -30),
        ( 44,  80,  60,  24, -10,   6,  30,  48,   26),
        ( 70,  66,  44,  18,   0,   4,  24,  36,   20),
    ),
}
# fmt: on


def square_values(kind: int) -> npt.NDArray[np.int64]:
    """Centipawns of an own piece by square as its side sees it, int64 [81]."""
    values = np.full(SQUARES, BOARD_VALUE[kind], np.int64)
    for rank, row in enumerate(SQUARE_VALUE[kind], 1):
        for column, value in enumerate(row):
            values[square(9 - column, rank)] += value
    return values


def feature_values() -> npt.NDArray[np.int64]:
    """Centipawns of each feature of K-P, int64 [1710]: own pieces positive, the enemy's negative."""
    values = np.zeros(K_P.dimensions, np.int64)
    bases = {kind: BOARD_BASE[kind] for kind in BOARD_VALUE if kind != KING}
    bases[KING] = (PIECE_NUMBERS, PIECE_NUMBERS + SQUARES)
    for kind, (own, enemy) in bases.items():
        table = square_values(kind)
        values[own : own + SQUARES] = table
        values[enemy : enemy + SQUARES] = -table[::-1]
    for kind, (own, enemy) in HAND_BASE.items():
        held = np.full(MAX_IN_GAME[kind], HAND_VALUE[kind], np.int64)
        held[0] += FIRST_PAWN_IN_HAND if kind == PAWN else 0
        values[own : own + held.size] = held
        values[enemy : enemy + held.size] = -held
    return values


# ---- The network.

_LEVEL: Final = 2
"""Centipawns per level."""
_LEVEL_OUTPUT: Final = 32
"""Raw output per level: with FV_SCALE 16, 16 per centipawn."""
_STRETCH: Final = 127
"""A unit's range: the maximum of an activation."""
_ONE: Final = 64
"""The weight that represents 1 in a hidden layer."""
_WIDTH: Final = 256
_HIDDEN: Final = 32

# (units, levels per step of a unit, output weight) of the hidden layer's ranges, from L = 0 outwards.
_STRETCHES: Final = ((12, 1, _LEVEL_OUTPUT), (4, 8, 127))
_REACH: Final = sum(units * levels * _STRETCH for units, levels, _ in _STRETCHES)
_THERMOMETER_UNITS: Final = 2 * _REACH // _STRETCH


def build() -> NetworkFile:
    """The network of generation 0."""
    units = np.arange(_THERMOMETER_UNITS)
    transformer_bias = np.zeros(_WIDTH, np.int16)
    transformer_bias[units] = _REACH - _STRETCH * units
    transformer_weight = np.zeros((K_P.dimensions, _WIDTH), np.int16)
    transformer_weight[:, units] = feature_values()[:, np.newaxis] // _LEVEL

    bias1 = np.zeros(_HIDDEN, np.int32)
    weight1 = np.zeros((_HIDDEN, 2, _WIDTH), np.int8)
    weight3 = np.zeros((1, _HIDDEN), np.int8)
    unit, start = 0, 0
    for count, levels, output_weight in _STRETCHES:
        for _ in range(count):
            for sign in (1, -1):
                # The columns' difference is 2L, so half of one makes one step per level.
                weight = sign * _ONE // 2 // levels
                weight1[unit, 0, units] = weight
                weight1[unit, 1, units] = -weight
                bias1[unit] = -_ONE * start // levels
                weight3[0, unit] = sign * output_weight
                unit += 1
            start += _STRETCH * levels
    identity = np.eye(_HIDDEN, dtype=np.int8) * np.int8(_ONE)
    return NetworkFile(
        Architecture(K_P, _WIDTH, _HIDDEN, _HIDDEN),
        transformer_bias,
        transformer_weight,
        (bias1, np.zeros(_HIDDEN, np.int32), np.zeros(1, np.int32)),
        (weight1.reshape(_HIDDEN, 2 * _WIDTH), identity, weight3),
    )
