"""Start positions in which both kings stand far up the board: of plain games one in ten thousand is declared.

White's half is black's turned by 180 degrees, so neither side is ahead. Random moves then make them differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from worker.shogi import Position, SfenError
from worker.shogi.pieces import (
    BISHOP,
    GOLD,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTED,
    ROOK,
    SILVER,
    SQUARES,
    WHITE,
    square,
)
from worker.shogi.sfen import Setup, write

_PIECES: Final = {PAWN: 9, LANCE: 2, KNIGHT: 2, SILVER: 2, GOLD: 2, BISHOP: 1, ROOK: 1}
"""Pieces of each side."""
_KING_RANKS: Final = (2, 5)
"""From and to, as black sees them."""
_IN_CAMP: Final = (4, 8)
"""So many of a side's pieces stand in the enemy's camp, from and to."""


def entering_start(rng: random.Random) -> Position:
    """A random position with black to move, no check, and all pieces."""
    while True:
        try:
            position = Position.from_sfen(write(_draw(rng)))
        except SfenError:  # two pawns on a file, a piece without a move, a king that could be taken
            continue
        if not position.in_check() and not position.is_mated():
            return position


def _draw(rng: random.Random) -> Setup:
    board = [0] * SQUARES
    hand = [0] * 8

    def put(piece: int, sq: int) -> bool:
        """Put a piece and its twin; False: there is no room."""
        twin = SQUARES - 1 - sq
        if board[sq] or board[twin] or sq == twin:
            return False
        board[sq], board[twin] = piece, piece | WHITE << 4
        return True

    _put_somewhere(rng, put, KING, _KING_RANKS)
    pieces = [kind for kind, count in _PIECES.items() for _ in range(count)]
    first, last = _IN_CAMP
    for _ in range(first + _below(rng, last - first + 1)):
        kind = pieces.pop(_below(rng, len(pieces)))
        promoted = kind != GOLD and (kind in (PAWN, LANCE, KNIGHT) or _below(rng, 2) == 0)
        _put_somewhere(rng, put, kind | (PROMOTED if promoted else 0), (1, 3))
    for kind in pieces:
        if _below(rng, 3):
            _put_somewhere(rng, put, kind, (4, 9))
        else:
            hand[kind] += 1
    return Setup(tuple(board), (tuple(hand), tuple(hand)), 0, 1)


def _put_somewhere(rng: random.Random, put: Callable[[int, int], bool], piece: int, ranks: tuple[int, int]) -> None:
    first, last = ranks
    while not put(piece, square(_below(rng, 9) + 1, first + _below(rng, last - first + 1))):
        pass


def _below(rng: random.Random, limit: int) -> int:
    """A number from 0 to ``limit - 1``, by the one method that is the same in every version of Python."""
    return int(rng.random() * limit)
