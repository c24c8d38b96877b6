"""The declaration win of the CSA rules (27 points): ``%KACHI``, USI ``bestmove win``."""

from __future__ import annotations

from typing import Any, Final

from worker.jit import jit
from worker.jit.bitboard import count
from worker.shogi.attacks import in_check, pieces, single
from worker.shogi.movegen import zone
from worker.shogi.pieces import BISHOP, BLACK, DRAGON, HORSE, KING, PAWN, ROOK

POINTS_BLACK: Final = 28
POINTS_WHITE: Final = 27
PIECES_IN_CAMP: Final = 10


@jit()
def can_declare(pos: Any) -> bool:
    """Whether the side to move may declare a win. Expects `attacks.update_checks`.

    All of: the king stands in the enemy camp; at least ten other own pieces stand there; those pieces and the hand
    are worth 28 points (black) or 27 (white), rook and bishop 5, others 1; the side is not in check.
    """
    side = pos.side
    king = pos.ksq[side]
    camp = zone(pos, side)
    if king < 0 or not (camp & single(king)) or in_check(pos):
        return False
    own = side * 16
    inside = pieces(pos, own) & camp
    others = count(inside) - 1
    if others < PIECES_IN_CAMP:
        return False
    great = pieces(pos, own + BISHOP) | pieces(pos, own + ROOK) | pieces(pos, own + HORSE) | pieces(pos, own + DRAGON)
    points = others + 4 * count(great & camp)
    for kind in range(PAWN, KING):
        worth = 5 if kind == BISHOP or kind == ROOK else 1
        points += worth * pos.hand[side * 8 + kind]
    return points >= (POINTS_BLACK if side == BLACK else POINTS_WHITE)
