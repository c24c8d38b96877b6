"""Mate in one, for nodes of the tree. Every result is a mate, but only moves next to the king and knight checks are
tried.

Discovered checks and distant checks are left to the search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import holds, ld_bb, lowest, single, without_lowest
from worker.shogi import tables
from worker.shogi.attacks import (
    attackers,
    has_attacker,
    in_check,
    no_squares,
    occupied,
    piece_attacks,
    pieces,
    pinned,
    step_attacks,
    update_checks,
)
from worker.shogi.makemove import is_legal, make, unmake
from worker.shogi.movegen import generate_evasions, stand, zone
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PROMOTE_BIT,
    PROMOTED,
    ROOK,
    SILVER,
)

_NEAR = tables.NEAR


@jit()
def _mates(pos: Any, move: int, n: int) -> bool:
    """Whether a pseudo-legal move is legal and mates; lists are written to ``pos.moves`` from ``n`` on."""
    if not is_legal(pos, move, n):
        return False
    make(pos, move)
    update_checks(pos)
    mated = in_check(pos)
    if mated:
        end = generate_evasions(pos, n, np.int64(0))
        for i in range(n, end):
            if is_legal(pos, pos.moves[i], end):
                mated = False
                break
    unmake(pos)
    return mated


@jit()
def _leaves_no_flight(pos: Any, kind: int, target: int, occ: Any, flights: Any) -> bool:
    """Whether a piece on ``target`` attacks the enemy king and all of ``flights``. ``occ``: without that king."""
    reach = piece_attacks(pos, pos.side, kind, target, occ)
    return holds(reach, pos.ksq[1 - pos.side]) and not (flights & ~(reach | single(target)))


@jit()
def _mating_drop(pos: Any, target: int, flights: Any, occ: Any, n: int, contact: bool) -> Any:
    """A drop on an empty square that mates, else 0. ``contact``: next to the king; otherwise a knight's square."""
    side = pos.side
    kinds_from, kinds_to = (LANCE, GOLD) if contact else (KNIGHT, KNIGHT)
    for kind in range(kinds_from, kinds_to + 1):
        if pos.hand[side * 8 + kind] > 0 and _leaves_no_flight(pos, kind, target, occ, flights):
            move = np.int64(target | (kind << 7) | DROP_BIT | ((side * 16 + kind) << 16))
            if holds(stand(pos, side, kind), target) and _mates(pos, move, n):
                return move
    return np.int64(0)


@jit()
def _mating_move(pos: Any, target: int, movers: Any, flights: Any, occ: Any, n: int, contact: bool) -> Any:
    """A move of one of ``movers`` to ``target`` that mates, else 0."""
    side = pos.side
    camp = zone(pos, side)
    while movers:
        origin = lowest(movers)
        movers = without_lowest(movers)
        piece = np.int64(pos.board[origin])
        kind = piece & 15
        if kind == KING:
            continue
        left = occ & ~single(origin)
        # Next to the king the piece needs a guard, counting attacks through the mover's origin.
        if contact and not has_attacker(pos, target, side, left, single(origin)):
            continue
        base = np.int64(target | (origin << 7) | (piece << 16))
        if kind < GOLD and (holds(camp, origin) or holds(camp, target)):
            if _leaves_no_flight(pos, kind | PROMOTED, target, left, flights) and _mates(pos, base | PROMOTE_BIT, n):
                return base | PROMOTE_BIT
            if kind != SILVER and kind != KNIGHT and kind != LANCE:
                continue
        if (kind >= GOLD or holds(stand(pos, side, kind), target)) and _leaves_no_flight(
            pos, kind, target, left, flights
        ):
            if _mates(pos, base, n):
                return base
    return np.int64(0)


@jit()
def _guarded(pos: Any, side: int, king: int, occ: Any) -> Any:
    """The squares that ``side`` attacks next to the enemy king, and possibly some others; sliders see through
    ``occ``."""
    own = side * 16
    sliders = pieces(pos, own + ROOK) | pieces(pos, own + DRAGON) | pieces(pos, own + BISHOP) | pieces(pos, own + HORSE)
    sliders |= pieces(pos, own + LANCE)
    steppers = pieces(pos, own) & ld_bb(pos.tables + _NEAR + king * 16) & ~sliders
    found = no_squares()
    while steppers:
        square = lowest(steppers)
        steppers = without_lowest(steppers)
        found |= step_attacks(pos, side, np.int64(pos.board[square]) & 15, square)
    while sliders:
        square = lowest(sliders)
        sliders = without_lowest(sliders)
        found |= piece_attacks(pos, side, np.int64(pos.board[square]) & 15, square, occ)
    return found


@jit()
def mate_in_one(pos: Any, n: int) -> Any:
    """A move that mates (int64), 0 if none is found. Lists are written to ``pos.moves`` from ``n`` on.

    Expects `update_checks`; the side to move must not be in check.
    """
    side = pos.side
    enemy = 1 - side
    king = pos.ksq[enemy]
    if king < 0:
        return np.int64(0)
    # Our sliders see through the king, which cannot flee along their lines; the enemy's defend around it.
    whole = occupied(pos)
    occ = whole ^ single(king)
    theirs = pieces(pos, enemy * 16)
    mine = pieces(pos, side * 16)
    around = step_attacks(pos, enemy, KING, king)
    guarded = _guarded(pos, side, king, occ) & around
    flights = around & ~guarded & ~theirs
    targets = guarded & ~mine
    if not targets and flights:
        return np.int64(0)
    # The king takes only unguarded pieces, and a pinned piece seldom takes.
    idle = single(king) | pinned(pos, enemy)
    while targets:
        target = lowest(targets)
        targets = without_lowest(targets)
        if has_attacker(pos, target, enemy, whole, idle):
            continue
        if not holds(occ, target):
            move = _mating_drop(pos, target, flights, occ | single(target), n, True)
            if move != 0:
                return move
        move = _mating_move(pos, target, attackers(pos, target, side, occ), flights, occ | single(target), n, True)
        if move != 0:
            return move
    if not flights:
        targets = step_attacks(pos, enemy, KNIGHT, king) & ~mine
        while targets:
            target = lowest(targets)
            targets = without_lowest(targets)
            if has_attacker(pos, target, enemy, whole, idle):
                continue
            if not holds(occ, target) and pos.hand[side * 8 + KNIGHT] > 0:
                move = _mating_drop(pos, target, flights, occ | single(target), n, False)
                if move != 0:
                    return move
            knights = step_attacks(pos, enemy, KNIGHT, target) & pieces(pos, side * 16 + KNIGHT)
            move = _mating_move(pos, target, knights, flights, occ | single(target), n, False)
            if move != 0:
                return move
    return np.int64(0)
