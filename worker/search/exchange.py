"""Piece values for ordering and exchanges, and static exchange evaluation.

Values are in centipawns, Apery's and YaneuraOu's (published). A piece counts once, not once for its loss and again for
the opponent's gain; margins of exchanges use this unit.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import lowest, single, without_lowest
from worker.jit.memory import ld8
from worker.shogi import tables
from worker.shogi.attacks import (
    all_sliding_attackers,
    forward_ray,
    line_attacks,
    no_squares,
    occupied,
    pieces,
    stepping_attackers,
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
from worker.shogi.tables import LINE_ANTIDIAGONAL, LINE_DIAGONAL, LINE_FILE, LINE_RANK

PIECE_VALUE: Final = (0, 90, 315, 405, 495, 855, 990, 540, 15000, 540, 540, 540, 540, 945, 1395, 0)
"""By piece type."""

VALUE: Final = np.array(PIECE_VALUE, np.int64)
"""int64[16], by piece type: the gain from capturing it."""

PROMOTION_GAIN: Final = np.array(
    [PIECE_VALUE[kind + 8] - PIECE_VALUE[kind] if 1 <= kind <= 6 else 0 for kind in range(16)], np.int64
)
"""int64[16], by unpromoted type: the gain from promoting it."""


_DIRECTION = tables.DIRECTION
_ORDER = np.array([PAWN, LANCE, KNIGHT, SILVER, GOLDS, BISHOP, HORSE, ROOK, DRAGON], np.int64)


@jit()
def _cheapest(pos: Any, colour: int, found: Any) -> Any:
    """The square of the least valuable piece among ``found``; the king comes last."""
    if not without_lowest(found):
        return lowest(found)
    own = colour * 16
    for i in range(9):
        these = found & pieces(pos, own + _ORDER[i])
        if these:
            return lowest(these)
    return lowest(found)


@jit()
def _rooks_on_file(pos: Any, target: int) -> Any:
    """Both sides' rooks, dragons, and the lances that face ``target`` from their squares."""
    rooks = pieces(pos, ROOK) | pieces(pos, DRAGON) | pieces(pos, 16 + ROOK) | pieces(pos, 16 + DRAGON)
    rooks |= pieces(pos, LANCE) & forward_ray(pos, np.int64(1), target)
    return rooks | (pieces(pos, 16 + LANCE) & forward_ray(pos, np.int64(0), target))


@jit()
def _sliders(pos: Any, target: int, line: int, occ: Any) -> Any:
    """Both sides' sliders that attack ``target`` along a line."""
    if line == LINE_FILE:
        return line_attacks(pos, target, line, occ) & _rooks_on_file(pos, target)
    if line == LINE_RANK:
        rooks = pieces(pos, ROOK) | pieces(pos, DRAGON) | pieces(pos, 16 + ROOK) | pieces(pos, 16 + DRAGON)
        return line_attacks(pos, target, line, occ) & rooks
    bishops = pieces(pos, BISHOP) | pieces(pos, HORSE) | pieces(pos, 16 + BISHOP) | pieces(pos, 16 + HORSE)
    return line_attacks(pos, target, line, occ) & bishops


@jit()
def _opened(pos: Any, target: int, left: int, occ: Any) -> Any:
    """The sliders that attack ``target`` along the line on which a piece has left ``left``."""
    way = ld8(pos.tables + _DIRECTION + target * 81 + left)
    if way == 0:
        return no_squares()
    if target // 9 == left // 9:
        return _sliders(pos, target, np.int64(LINE_FILE), occ)
    if target % 9 == left % 9:
        return _sliders(pos, target, np.int64(LINE_RANK), occ)
    found = _sliders(pos, target, np.int64(LINE_DIAGONAL), occ)
    return found | _sliders(pos, target, np.int64(LINE_ANTIDIAGONAL), occ)


@jit()
def exchange_at_least(pos: Any, move: int, threshold: int) -> bool:
    """Whether the exchange on the target square, started by ``move``, gains at least ``threshold`` centipawns.

    Promotions after the first move are not counted. Pins are ignored.
    """
    target = move & 127
    side = pos.side
    kind: Any = (move >> 16) & 15
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
    # From here on `stake` is the amount that the side to capture must still gain to refute the other side.
    stake = VALUE[kind] - balance
    if stake <= 0:
        return True
    everyone = (all_sliding_attackers(pos, target, occ) | stepping_attackers(pos, target, 1 - side)) & occ
    if not (everyone & pieces(pos, (1 - side) * 16)):
        return True
    everyone |= stepping_attackers(pos, target, side) & occ
    holds = np.int64(1)
    turn = side
    while True:
        turn = 1 - turn
        found = everyone & pieces(pos, turn * 16)
        if not found:
            break
        holds ^= 1
        sq = _cheapest(pos, turn, found)
        kind = np.int64(pos.board[sq]) & 15
        occ ^= single(sq)
        everyone = (everyone | _opened(pos, target, sq, occ)) & occ
        if kind == KING:
            # The king captures last, and only an unguarded piece.
            if everyone & pieces(pos, (1 - turn) * 16):
                holds ^= 1
            break
        stake = VALUE[kind] - stake
        if stake < holds:
            break
    return holds != 0
