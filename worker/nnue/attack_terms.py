"""Attack terms: what attacks are worth, beside a network whose inputs do not show them.

K+P says where pieces stand, not what they attack. 55 numbers say what is missing: one for each class of the squares
around both kings, one for each type of a piece of the side to move that is attacked, and a constant. (The enemy's
attacked pieces are captures, which the search tries.) The class of a square is ``3 * own + enemy``, in which both are
the number of its attackers, 0, 1 or 2 (for two and more); the squares next to a king are counted without the attacks of
that king. ``gougi net attacks`` fits the numbers to the scores of games. A network file has them in its architecture
string, which other programs skip.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import bitboard, count, holds, lowest, shift_down, shift_up, single, without_lowest
from worker.jit.memory import ld16
from worker.shogi.attacks import add_attacks, all_squares, no_squares, occupied, pieces
from worker.shogi.pieces import BISHOP, DRAGON, GOLD, HORSE, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER, SQUARES

CLASSES: Final = 9
"""Classes of squares."""
KINDS: Final = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, HORSE, DRAGON)
"""Types of attacked pieces; all that move as a gold count as one."""
_KIND: Final = tuple(KINDS.index(kind) if kind in KINDS else KINDS.index(GOLD) for kind in range(16))
RINGS: Final = 4 * CLASSES
"""Terms of squares: next to the own king, two squares away from it, and the same for the enemy's king."""
CONSTANT: Final = RINGS + 2 * len(KINDS)
"""After them those of attacked pieces: without protection, then with it."""
TERMS: Final = CONSTANT + 1

_TOP: Final = sum(1 << sq for sq in range(0, SQUARES + 1, 9))  # with the first bit after the board
_TOP_LOW, _TOP_HIGH = np.uint64(_TOP & (1 << 64) - 1), np.uint64(_TOP >> 64)


@jit()
def _spread(squares: Any) -> Any:
    """These squares and all that a king reaches from them."""
    top = bitboard(_TOP_LOW, _TOP_HIGH)
    squares |= shift_up(squares, np.int64(9)) | shift_down(squares, np.int64(9))
    squares |= (shift_up(squares, np.int64(1)) & ~top) | shift_down(squares & ~top, np.int64(1))
    return squares & all_squares()


@jit()
def _attacks(pos: Any, colour: int, occ: Any) -> Any:
    """The squares that pieces of ``colour`` other than its king attack at least once, and at least twice."""
    pawns = pieces(pos, colour * 16 + PAWN)
    once = shift_down(pawns, np.int64(1)) if colour == 0 else shift_up(pawns, np.int64(1))
    others = pieces(pos, colour * 16) & ~pawns & ~pieces(pos, colour * 16 + KING)
    return add_attacks(pos, colour, others, occ, once, no_squares())


@jit()
def _squares(terms: int, ring: Any, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any) -> Any:
    """The terms of the squares of a ring, int64; ``terms``: the address of the ring's first."""
    value = np.int64(0)
    for row in range(3):
        part = ring & (~own if row == 0 else own & ~own_twice if row == 1 else own_twice)
        if part:
            attacked = part & enemy
            twice = part & enemy_twice
            many, some = count(twice), count(attacked)
            value += ld16(terms + 6 * row) * (count(part) - some)
            value += ld16(terms + 6 * row + 2) * (some - many) + ld16(terms + 6 * row + 4) * many
    return value


@jit()
def _around(terms: int, king: Any, own: Any, own_twice: Any, enemy: Any, enemy_twice: Any) -> Any:
    """The terms of both rings of a king, int64."""
    near = _spread(king)
    value = _squares(terms, near & ~king, own, own_twice, enemy, enemy_twice)
    return value + _squares(terms + 2 * CLASSES, _spread(near) & ~near, own, own_twice, enemy, enemy_twice)


@jit()
def attack_value(pos: Any, terms: int) -> Any:
    """The sum of the terms for the side to move, int64 in the network's raw units; 0 if a king is missing.

    Args:
        terms: address of int16 [`TERMS`].
    """
    us = pos.side
    them = 1 - us
    if pos.ksq[us] < 0 or pos.ksq[them] < 0:
        return np.int64(0)
    occ = occupied(pos)
    our_king, their_king = single(pos.ksq[us]), single(pos.ksq[them])
    ours, ours_twice = _attacks(pos, us, occ)
    theirs, theirs_twice = _attacks(pos, them, occ)
    by_our_king, by_their_king = _spread(our_king) & ~our_king, _spread(their_king) & ~their_king
    all_ours, all_ours_twice = ours | by_our_king, ours_twice | (ours & by_our_king)
    all_theirs, all_theirs_twice = theirs | by_their_king, theirs_twice | (theirs & by_their_king)
    value = np.int64(ld16(terms + 2 * CONSTANT))
    value += _around(terms, our_king, ours, ours_twice, all_theirs, all_theirs_twice)
    value += _around(terms + 4 * CLASSES, their_king, theirs, theirs_twice, all_ours, all_ours_twice)
    left = pieces(pos, us * 16) & ~our_king & all_theirs
    while left:
        square = lowest(left)
        left = without_lowest(left)
        number = RINGS + _KIND[pos.board[square] & 15] + (len(KINDS) if holds(all_ours, square) else 0)
        value += ld16(terms + 2 * number)
    return value
