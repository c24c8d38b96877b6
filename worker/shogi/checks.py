"""Checks: detection of checking moves, and their generation alone.

A king may be absent on the attacker's side, as in composed problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import holds, lowest, single, without_lowest
from worker.jit.memory import ld8
from worker.shogi import tables
from worker.shogi.attacks import (
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    shields,
)
from worker.shogi.movegen import emit, file_of, stand, zone
from worker.shogi.pieces import (
    DROP_BIT,
    GOLD,
    KING,
    PAWN,
    PROMOTE_BIT,
    PROMOTED,
)

_DIRECTION = tables.DIRECTION


@jit()
def discoverers(pos: Any) -> Any:
    """Own pieces that alone stand between an own slider and the enemy king."""
    return shields(pos, 1 - pos.side) & pieces(pos, pos.side * 16)


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
        return holds(piece_attacks(pos, side, kind, target, occ), king)
    if move & PROMOTE_BIT:
        kind |= 8
    origin = (move >> 7) & 127
    if holds(piece_attacks(pos, side, kind, target, occ ^ single(origin)), king):
        return True
    if holds(hidden, origin):
        rays = pos.tables + _DIRECTION + king * 81
        return ld8(rays + origin) != ld8(rays + target)
    return False


@jit()
def check_squares(pos: Any, kind: int) -> Any:
    """The squares from which a piece of the side to move would attack the enemy king (which must be on the board)."""
    enemy = 1 - pos.side
    return piece_attacks(pos, enemy, kind, pos.ksq[enemy], occupied(pos))


@jit()
def drop_squares(pos: Any, kind: int) -> Any:
    """Empty squares from which a dropped piece of the side to move would check, even if it has none in hand.

    Two pawns on a file are excluded, drop-pawn mate is not.
    """
    side = pos.side
    targets = check_squares(pos, kind) & ~occupied(pos) & stand(pos, side, kind)
    if kind == PAWN and targets and (file_of(pos, lowest(targets)) & pieces(pos, side * 16 + PAWN)):
        return no_squares()
    return targets


@jit()
def keep_checks(pos: Any, begin: int, end: int, hidden: Any) -> int:
    """Remove the moves that do not check from a list."""
    kept = begin
    for i in range(begin, end):
        if gives_check(pos, pos.moves[i], hidden):
            pos.moves[kept] = pos.moves[i]
            kept += 1
    return kept


@jit()
def board_checks(pos: Any, n: int, free: Any, hidden: Any) -> int:
    """Write the pseudo-legal board moves to ``free`` squares that check; those of ``hidden`` pieces one by one."""
    side = pos.side
    occ = occupied(pos)
    camp = zone(pos, side)
    movers = pieces(pos, side * 16)
    while movers:
        sq = lowest(movers)
        movers = without_lowest(movers)
        piece = np.int64(pos.board[sq])
        kind = piece & 15
        covered = holds(hidden, sq)
        if kind == KING and not covered:
            continue
        reach = piece_attacks(pos, side, kind, sq, occ) & free
        base = (sq << 7) | (piece << 16)
        begin = n
        promoting = reach
        if kind >= GOLD:
            promoting = no_squares()
        elif not holds(camp, sq):
            promoting = reach & camp
        plain = reach
        if kind < GOLD:
            plain = reach & stand(pos, side, kind)
        if covered:
            n = emit(pos, n, promoting, base | PROMOTE_BIT)
            n = emit(pos, n, plain, base)
            n = keep_checks(pos, begin, n, hidden)
            continue
        if promoting:
            n = emit(pos, n, promoting & check_squares(pos, kind | PROMOTED), base | PROMOTE_BIT)
        if plain:
            n = emit(pos, n, plain & check_squares(pos, kind), base)
    return n


@jit()
def drop_checks(pos: Any, n: int) -> int:
    """Write the drops that check, including drop-pawn mate."""
    side = pos.side
    for kind in range(PAWN, KING):
        if pos.hand[side * 8 + kind] > 0:
            base = DROP_BIT | (kind << 7) | ((side * 16 + kind) << 16)
            n = emit(pos, n, drop_squares(pos, kind), base)
    return n
