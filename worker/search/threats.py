"""Squares where a lesser piece could take what stands there: no good place for a quiet move.

Stockfish orders quiet moves so, with the pieces of chess. Histories do not know it: they remember a piece and its
target, not what the other side has got.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import holds, lowest, shift_down, shift_up, without_lowest
from worker.search import parameters as p
from worker.search.parts import part
from worker.shogi.attacks import lance_attacks, no_squares, occupied, pieces, step_attacks
from worker.shogi.pieces import BISHOP, BLACK, DROP_BIT, GOLD, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER
from worker.shogi.state import GOLDS

_PART = part("threats")


@jit()
def threats(pos: Any) -> tuple[Any, Any, Any]:
    """The squares that the enemy attacks, three bitboards: by pawns; by lances and knights too; by silvers and golds
    too."""
    if not _PART:
        return no_squares(), no_squares(), no_squares()
    colour = 1 - pos.side
    own = colour << 4
    pawns = pieces(pos, own + PAWN)
    by_pawns = shift_down(pawns, 1) if colour == BLACK else shift_up(pawns, 1)
    occ = occupied(pos)
    by_small = by_pawns
    rest = pieces(pos, own + LANCE)
    while rest:
        by_small |= lance_attacks(pos, colour, lowest(rest), occ)
        rest = without_lowest(rest)
    by_small |= _steps(pos, colour, KNIGHT, pieces(pos, own + KNIGHT))
    by_minor = by_small | _steps(pos, colour, SILVER, pieces(pos, own + SILVER))
    by_minor |= _steps(pos, colour, GOLD, pieces(pos, own + GOLDS))
    return by_pawns, by_small, by_minor


@jit()
def _steps(pos: Any, colour: int, kind: int, rest: Any) -> Any:
    """The squares that pieces of a kind attack, which stand on the squares ``rest``."""
    result = no_squares()
    while rest:
        result |= step_attacks(pos, colour, kind, lowest(rest))
        rest = without_lowest(rest)
    return result


@jit()
def threat_score(move: int, by_pawns: Any, by_small: Any, by_minor: Any) -> Any:
    """The part of a quiet move's score that lesser pieces decide (int64, history): less than 0 where one could take the
    piece on its target, more where one could take it now.

    Args:
        by_pawns, by_small, by_minor: as `threats` gives them.
    """
    kind = (move >> 16) & 15
    if not _PART or kind == PAWN or kind == KING:
        return np.int64(0)
    if kind == LANCE or kind == KNIGHT:
        worth, lesser = np.int64(p.THREAT[0]), by_pawns
    elif (kind & 7) == BISHOP or (kind & 7) == ROOK:
        worth, lesser = np.int64(p.THREAT[2]), by_minor
    else:
        worth, lesser = np.int64(p.THREAT[1]), by_small
    if holds(lesser, move & 127):
        return -worth
    if not (move & DROP_BIT) and holds(lesser, (move >> 7) & 127):
        return worth
    return np.int64(0)
