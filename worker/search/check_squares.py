"""The checks that the side to move of a node can give: looked up once a node, asked for each move.

By piece type the squares from which such a piece would check, two words each, and the pieces that would uncover a
check by leaving their line; both by search ply in the thread's Record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import high, low
from worker.jit.memory import ld8
from worker.search.state import CHECK_WORDS, OFFSET
from worker.shogi import tables
from worker.shogi.attacks import (
    bishop_attacks,
    forward_ray,
    line_attacks,
    no_squares,
    occupied,
    rook_attacks,
    step_attacks,
)
from worker.shogi.checks import discoverers
from worker.shogi.geometry import LINE_FILE
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
)

_DIRECTION = tables.DIRECTION


@jit()
def _note(th: Any, first: int, kind: int, squares: Any) -> None:
    th.check_squares[first + 2 * kind] = low(squares)
    th.check_squares[first + 2 * kind + 1] = high(squares)


@jit()
def note_checks(pos: Any, th: Any, ply: int) -> None:
    """Look up from where each piece checks; call before `checks_by` and before quiet moves are scored."""
    first = (OFFSET + ply) * CHECK_WORDS
    enemy = 1 - pos.side
    king = pos.ksq[enemy]
    if king < 0:
        for i in range(CHECK_WORDS):
            th.check_squares[first + i] = np.uint64(0)
        return
    # The squares that the king would attack if it were such a piece of its own colour.
    occ = occupied(pos)
    bishop = bishop_attacks(pos, king, occ)
    file = line_attacks(pos, king, LINE_FILE, occ)
    rook = rook_attacks(pos, king, occ)
    near = step_attacks(pos, enemy, KING, king)
    gold = step_attacks(pos, enemy, GOLD, king)
    _note(th, first, PAWN, step_attacks(pos, enemy, PAWN, king))
    _note(th, first, LANCE, file & forward_ray(pos, enemy, king))
    _note(th, first, KNIGHT, step_attacks(pos, enemy, KNIGHT, king))
    _note(th, first, SILVER, step_attacks(pos, enemy, SILVER, king))
    _note(th, first, BISHOP, bishop)
    _note(th, first, ROOK, rook)
    _note(th, first, GOLD, gold)
    _note(th, first, KING, no_squares())
    for kind in range(PRO_PAWN, PRO_SILVER + 1):
        _note(th, first, kind, gold)
    _note(th, first, HORSE, bishop | near)
    _note(th, first, DRAGON, rook | near)
    # In the place of type 0: the pieces that uncover a check.
    _note(th, first, np.int64(0), discoverers(pos))


@jit()
def stands_for_check(th: Any, ply: int, move: int) -> bool:
    """Whether the moved piece itself checks from where it goes. Expects `note_checks`."""
    kind = ((move >> 16) | ((move >> 11) & 8)) & 15
    return _has(th, (OFFSET + ply) * CHECK_WORDS + 2 * kind, move & 127)


@jit()
def _has(th: Any, words: int, square: int) -> bool:
    """Whether the two words from ``words`` on hold a square."""
    return (th.check_squares[words + (square >> 6)] >> np.uint64(square & 63)) & np.uint64(1) != np.uint64(0)


@jit()
def checks_by(pos: Any, th: Any, ply: int, move: int) -> bool:
    """Whether a legal move checks. Expects `note_checks`, and an enemy king that is not in check."""
    if stands_for_check(th, ply, move):
        return True
    origin = (move >> 7) & 127
    if move & DROP_BIT or not _has(th, (OFFSET + ply) * CHECK_WORDS, origin):
        return False
    rays = pos.tables + _DIRECTION + pos.ksq[1 - pos.side] * 81
    return ld8(rays + origin) != ld8(rays + (move & 127))
