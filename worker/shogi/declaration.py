"""Wins without mate: the declaration by the CSA rules (``%KACHI``, USI ``bestmove win``), and the try rule."""

from __future__ import annotations

from typing import Any, Final

from worker.jit import jit
from worker.jit.bits import count, holds, single
from worker.shogi.attacks import attackers, in_check, occupied, pieces, step_attacks
from worker.shogi.movegen import zone
from worker.shogi.pieces import BISHOP, BLACK, DRAGON, HORSE, KING, PAWN, ROOK, WHITE, square

NO_RULE: Final = 0
TRY_RULE: Final = 1
CSA_24: Final = 24
CSA_27: Final = 27
HANDICAP: Final = 100
"""Added to a rule's code: the same rule, but white also gets the points of the missing pieces."""
CSA_24H: Final = CSA_24 + HANDICAP
CSA_27H: Final = CSA_27 + HANDICAP

_ALL_POINTS: Final = 54
"""The points of all pieces but the kings."""

_PIECES_IN_CAMP: Final = 10
_TRY_SQUARES: Final = (square(5, 1), square(5, 9))


@jit()
def _great(pos: Any, own: int) -> Any:
    """Bishops and rooks on the board, promoted or not, of the side whose pieces begin at ``own``."""
    return pieces(pos, own + BISHOP) | pieces(pos, own + ROOK) | pieces(pos, own + HORSE) | pieces(pos, own + DRAGON)


@jit()
def points(pos: Any) -> Any:
    """The points of the side to move, or -1 if it may not declare for another reason. Expects `update_checks`.

    All of: the king stands in the enemy camp; at least ten other own pieces stand there; the side is not in check.
    Those pieces and the hand count: rook and bishop 5, others 1.
    """
    side = pos.side
    king = pos.ksq[side]
    camp = zone(pos, side)
    if king < 0 or not holds(camp, king) or in_check(pos):
        return -1
    own = side * 16
    inside = pieces(pos, own) & camp
    others = count(inside) - 1
    if others < _PIECES_IN_CAMP:
        return -1
    total = others + 4 * count(_great(pos, own) & camp)
    for kind in range(PAWN, KING):
        worth = 5 if kind == BISHOP or kind == ROOK else 1
        total += worth * pos.hand[side * 8 + kind]
    return total


@jit()
def missing_points(pos: Any) -> Any:
    """The points of the pieces that are neither on the board nor in a hand: the handicap's."""
    total = count(pieces(pos, BLACK * 16) | pieces(pos, WHITE * 16))
    for side in range(2):
        own = side * 16
        total -= 1 if pos.ksq[side] >= 0 else 0
        total += 4 * count(_great(pos, own))
        for kind in range(PAWN, KING):
            total += (5 if kind == BISHOP or kind == ROOK else 1) * pos.hand[side * 8 + kind]
    return _ALL_POINTS - total


@jit()
def try_move(pos: Any) -> Any:
    """The king's move to the square where the enemy king began, if legal; else 0. Expects `update_checks`."""
    side = pos.side
    king = pos.ksq[side]
    target = _TRY_SQUARES[0] if side == BLACK else _TRY_SQUARES[1]
    if king < 0 or not holds(step_attacks(pos, side, KING, king) & ~pieces(pos, side * 16), target):
        return 0
    if attackers(pos, target, 1 - side, occupied(pos) ^ single(king)):
        return 0
    return target | (king << 7) | ((side * 16 + KING) << 16)


@jit()
def wins_by(pos: Any, rule: int) -> bool:
    """Whether the side to move wins at once by ``rule``. Expects `update_checks`.

    `CSA_27`: 28 points for black, 27 for white. `CSA_24`: 31 points for either. `CSA_27H`, `CSA_24H`: reduced for white
    by the points of its handicap. `TRY_RULE`: the king can move to the square where the enemy king began. `NO_RULE`:
    never.

    Source: ``update_entering_point`` of YaneuraOu's ``source/position.cpp``; there too white gives the handicap.
    """
    if rule == TRY_RULE:
        return try_move(pos) != 0
    if rule == NO_RULE:
        return False
    have = points(pos)
    if have < 0:
        return False
    need = 31
    if rule == CSA_27 or rule == CSA_27H:
        need = 28 if pos.side == BLACK else 27
    if rule > HANDICAP and pos.side == WHITE:
        have += missing_points(pos)
    return have >= need
