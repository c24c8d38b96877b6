"""Generation of checking moves, exact: the legal moves that give check, no more and no fewer.

A king may be absent on the attacker's side, as in composed problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import lowest, without_lowest
from worker.search.exchange import discoverers, gives_check
from worker.shogi.attacks import (
    all_squares,
    in_check,
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    single,
)
from worker.shogi.makemove import is_legal
from worker.shogi.movegen import emit, file_of, generate_evasions, stand, zone
from worker.shogi.pieces import DROP_BIT, GOLD, KING, PAWN, PROMOTE_BIT, PROMOTED


@jit()
def check_squares(pos: Any, kind: int) -> Any:
    """From where a piece of the side to move would attack the enemy king (which must be on the board)."""
    enemy = 1 - pos.side
    return piece_attacks(pos, enemy, kind, pos.ksq[enemy], occupied(pos))


@jit()
def drop_squares(pos: Any, kind: int) -> Any:
    """Empty squares from where a dropped piece of the side to move would check, whether it holds one or not.

    Two pawns on a file are left out, drop-pawn mate is not.
    """
    side = pos.side
    targets = check_squares(pos, kind) & ~occupied(pos) & stand(pos, side, kind)
    if kind == PAWN and targets and (file_of(pos, lowest(targets)) & pieces(pos, side * 16 + PAWN)):
        return no_squares()
    return targets


@jit()
def _keep_checks(pos: Any, begin: int, end: int, hidden: Any) -> int:
    """Drop from a list the moves that do not check."""
    kept = begin
    for i in range(begin, end):
        if gives_check(pos, pos.moves[i], hidden):
            pos.moves[kept] = pos.moves[i]
            kept += 1
    return kept


@jit()
def _board_checks(pos: Any, n: int, hidden: Any) -> int:
    """Pseudo-legal board moves that check. Moves of ``hidden`` pieces are filtered one by one."""
    side = pos.side
    occ = occupied(pos)
    free = all_squares() & ~pieces(pos, side * 16)
    camp = zone(pos, side)
    movers = pieces(pos, side * 16)
    while movers:
        sq = lowest(movers)
        movers = without_lowest(movers)
        piece = np.int64(pos.board[sq])
        kind = piece & 15
        covered = bool(hidden & single(sq))
        if kind == KING and not covered:
            continue
        reach = piece_attacks(pos, side, kind, sq, occ) & free
        base = (sq << 7) | (piece << 16)
        begin = n
        promoting = reach
        if kind >= GOLD:
            promoting = no_squares()
        elif not (camp & single(sq)):
            promoting = reach & camp
        plain = reach
        if kind < GOLD:
            plain = reach & stand(pos, side, kind)
        if covered:
            n = emit(pos, n, promoting, base | PROMOTE_BIT)
            n = emit(pos, n, plain, base)
            n = _keep_checks(pos, begin, n, hidden)
            continue
        if promoting:
            n = emit(pos, n, promoting & check_squares(pos, kind | PROMOTED), base | PROMOTE_BIT)
        if plain:
            n = emit(pos, n, plain & check_squares(pos, kind), base)
    return n


@jit()
def _drop_checks(pos: Any, n: int) -> int:
    side = pos.side
    for kind in range(PAWN, KING):
        if pos.hand[side * 8 + kind] > 0:
            base = DROP_BIT | (kind << 7) | ((side * 16 + kind) << 16)
            n = emit(pos, n, drop_squares(pos, kind), base)
    return n


@jit()
def forcing_moves(pos: Any, n: int, attacks: bool) -> int:
    """Write the legal moves of a mate search to ``pos.moves`` from ``n`` on and return the end.

    ``attacks``: those that give check (the enemy king must be on the board). Else: the answers to a check, in which the
    side to move must be. Expects `attacks.update_checks`. A promotion comes before its twin that declines it, drops
    come from the pawn up to the gold.
    """
    begin = n
    if in_check(pos):
        n = generate_evasions(pos, n, np.int64(1))
        if attacks:
            n = _keep_checks(pos, begin, n, discoverers(pos))
    elif attacks:
        n = _drop_checks(pos, _board_checks(pos, n, discoverers(pos)))
    kept = begin
    for i in range(begin, n):
        move = pos.moves[i]
        if is_legal(pos, move, n):
            pos.moves[kept] = move
            kept += 1
    return kept
