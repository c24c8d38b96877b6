"""Squares, colours, pieces and moves as numbers. All of them plain ints, the same in Python and in compiled code.

Squares are numbered by file, then rank, as in the usual network files: ``(file - 1) * 9 + (rank - 1)``.
A piece is ``colour << 4 | type``; bit 3 of the type marks promotion. A move is ``to | from << 7 | promotion << 14 |
drop << 15 | piece << 16``: for a drop, ``from`` is the piece type; ``piece`` is the mover before promotion, colour
included. 0 is no move.
"""

from __future__ import annotations

from typing import Final

BLACK: Final = 0
WHITE: Final = 1

EMPTY: Final = 0
PAWN: Final = 1
LANCE: Final = 2
KNIGHT: Final = 3
SILVER: Final = 4
BISHOP: Final = 5
ROOK: Final = 6
GOLD: Final = 7
KING: Final = 8
PRO_PAWN: Final = 9
PRO_LANCE: Final = 10
PRO_KNIGHT: Final = 11
PRO_SILVER: Final = 12
HORSE: Final = 13
DRAGON: Final = 14

PROMOTED: Final = 8
"""Added to a piece type by promotion."""

MAX_IN_GAME: Final = {PAWN: 18, LANCE: 4, KNIGHT: 4, SILVER: 4, GOLD: 4, BISHOP: 2, ROOK: 2, KING: 2}
"""Pieces of each unpromoted type in a full set."""

SQUARES: Final = 81
PROMOTE_BIT: Final = 1 << 14
DROP_BIT: Final = 1 << 15

SFEN_LETTERS: Final = " PLNSBRGK"
"""The SFEN letter of an unpromoted piece type, by type."""

CSA_NAMES: Final = ("", "FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")
"""The CSA name by piece type."""

RANK_LETTERS: Final = "abcdefghi"


def square(file: int, rank: int) -> int:
    """The number of the square at ``file`` 1..9, ``rank`` 1..9."""
    return (file - 1) * 9 + (rank - 1)


def move_to(move: int) -> int:
    """The target square."""
    return move & 127


def move_from(move: int) -> int:
    """The origin square (for a drop: the piece type)."""
    return move >> 7 & 127


def is_drop(move: int) -> bool:
    return bool(move & DROP_BIT)


def is_promotion(move: int) -> bool:
    return bool(move & PROMOTE_BIT)


def move_piece(move: int) -> int:
    """The piece that moves, before promotion, colour included."""
    return move >> 16


def board_move(piece: int, origin: int, target: int, *, promote: bool = False) -> int:
    """A move of ``piece`` from ``origin`` to ``target``."""
    return target | origin << 7 | (PROMOTE_BIT if promote else 0) | piece << 16


def drop_move(piece: int, target: int) -> int:
    """A drop of ``piece`` (colour included, unpromoted) on ``target``."""
    return target | (piece & 15) << 7 | DROP_BIT | piece << 16
