"""Static exchange evaluation, and whether a move gives check."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import high, low, lowest
from worker.search.values import PROMOTION_GAIN, VALUE
from worker.shogi import tables
from worker.shogi.attacks import (
    attackers,
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    single,
)
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTE_BIT,
    ROOK,
    SILVER,
)
from worker.shogi.state import GOLDS

_DIRECTION = tables.DIRECTION
_ORDER = np.array([PAWN, LANCE, KNIGHT, SILVER, GOLDS, BISHOP, HORSE, ROOK, DRAGON], np.int64)


@jit()
def _cheapest(pos: Any, colour: int, found: Any) -> Any:
    """The square of the least valuable piece among ``found``; the king comes last."""
    own = colour * 16
    for i in range(9):
        these = found & pieces(pos, own + _ORDER[i])
        if these:
            return lowest(these)
    return lowest(found)


@jit()
def exchange_at_least(pos: Any, move: int, threshold: int) -> bool:
    """Whether the exchanges on the target square, begun by ``move``, gain at least ``threshold`` centipawns.

    Promotions after the first move are not counted. Pins are ignored.
    """
    target = move & 127
    side = pos.side
    kind = (move >> 16) & 15
    occ = occupied(pos)
    balance = -threshold
    if move & DROP_BIT:
        occ |= single(target)
    else:
        balance += VALUE[np.int64(pos.board[target]) & 15]
        if move & PROMOTE_BIT:
            balance += PROMOTION_GAIN[kind]
            kind |= 8
        occ = (occ ^ single((move >> 7) & 127)) | single(target)
    if balance < 0:
        return False
    if kind == KING:
        return True
    # From here on `stake` is what the side to capture would still have to gain to refute the side before it.
    stake = VALUE[kind] - balance
    if stake <= 0:
        return True
    holds = np.int64(1)
    turn = side
    while True:
        turn = 1 - turn
        found = attackers(pos, target, turn, occ) & occ
        if not found:
            break
        holds ^= 1
        sq = _cheapest(pos, turn, found)
        kind = np.int64(pos.board[sq]) & 15
        occ ^= single(sq)
        if kind == KING:
            # The king takes last, and only what nothing guards.
            if attackers(pos, target, 1 - turn, occ) & occ:
                holds ^= 1
            break
        stake = VALUE[kind] - stake
        if stake < holds:
            break
    return holds != 0


@jit()
def note_check_squares(pos: Any, th: Any) -> None:
    """Fill ``th.check_squares``: by piece type, two words of the squares from which it would check the enemy king."""
    side = pos.side
    king = pos.ksq[1 - side]
    occ = occupied(pos)
    for kind in range(PAWN, DRAGON + 1):
        squares = no_squares()
        if king >= 0 and kind != KING:
            # What the king would attack if it were such a piece of its own colour.
            squares = piece_attacks(pos, 1 - side, kind, king, occ)
        th.check_squares[2 * kind] = low(squares)
        th.check_squares[2 * kind + 1] = high(squares)
