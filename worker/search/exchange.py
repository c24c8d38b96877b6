"""Static exchange evaluation, and whether a move gives check."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import count, high, low, lowest, without_lowest
from worker.jit.memory import ld8
from worker.search.values import PROMOTION_GAIN, SWING
from worker.shogi import tables
from worker.shogi.attacks import (
    attackers,
    between,
    bishop_attacks,
    forward_ray,
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    rook_attacks,
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
def swing(kind: int) -> Any:
    """What the capture of a piece type changes between the sides (centipawns)."""
    return SWING[kind]


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
        balance += SWING[np.int64(pos.board[target]) & 15]
        if move & PROMOTE_BIT:
            balance += PROMOTION_GAIN[kind]
            kind |= 8
        occ = (occ ^ single((move >> 7) & 127)) | single(target)
    if balance < 0:
        return False
    if kind == KING:
        return True
    # From here on `stake` is what the side to capture would still have to gain to refute the side before it.
    stake = SWING[kind] - balance
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
        stake = SWING[kind] - stake
        if stake < holds:
            break
    return holds != 0


@jit()
def discoverers(pos: Any) -> Any:
    """Own pieces that alone stand between an own slider and the enemy king."""
    side = pos.side
    king = pos.ksq[1 - side]
    found = no_squares()
    if king < 0:
        return found
    own = side * 16
    empty = no_squares()
    snipers = rook_attacks(pos, king, empty) & (pieces(pos, own + ROOK) | pieces(pos, own + DRAGON))
    snipers |= bishop_attacks(pos, king, empty) & (pieces(pos, own + BISHOP) | pieces(pos, own + HORSE))
    snipers |= forward_ray(pos, 1 - side, king) & pieces(pos, own + LANCE)
    occ = occupied(pos)
    mine = pieces(pos, own)
    while snipers:
        sniper = lowest(snipers)
        snipers = without_lowest(snipers)
        shields = between(pos, king, sniper) & occ
        if count(shields) == 1:
            found |= shields & mine
    return found


@jit()
def gives_check(pos: Any, move: int, hidden: Any) -> bool:
    """Whether a pseudo-legal move checks. ``hidden``: `discoverers` of this position."""
    side = pos.side
    king = pos.ksq[1 - side]
    if king < 0:
        return False
    target = move & 127
    kind = (move >> 16) & 15
    occ = occupied(pos)
    if move & DROP_BIT:
        return bool(piece_attacks(pos, side, kind, target, occ) & single(king))
    if move & PROMOTE_BIT:
        kind |= 8
    origin = (move >> 7) & 127
    if piece_attacks(pos, side, kind, target, occ ^ single(origin)) & single(king):
        return True
    if hidden & single(origin):
        rays = pos.tables + _DIRECTION + king * 81
        return ld8(rays + origin) != ld8(rays + target)
    return False


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
