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
from worker.shogi.attacks import lance_attacks, no_squares, occupied, pieces
from worker.shogi.movegen import stand
from worker.shogi.pieces import BISHOP, BLACK, DROP_BIT, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER
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
    by_pawns = _ahead(pos, pieces(pos, own + PAWN), colour)
    by_small = by_pawns
    lances = pieces(pos, own + LANCE)
    while lances:
        by_small |= lance_attacks(pos, colour, lowest(lances), occupied(pos))
        lances = without_lowest(lances)
    by_small |= _beside(_ahead(pos, _ahead(pos, pieces(pos, own + KNIGHT), colour), colour))
    silvers = pieces(pos, own + SILVER)
    golds = pieces(pos, own + GOLDS)
    ahead = _ahead(pos, silvers | golds, colour)
    gold_back = _ahead(pos, golds, 1 - colour)
    by_minor = by_small | ahead | gold_back | _beside(ahead | golds | _ahead(pos, silvers, 1 - colour))
    return by_pawns, by_small, by_minor


@jit()
def _ahead(pos: Any, squares: Any, colour: int) -> Any:
    """The squares in front of ``squares``, as ``colour`` sees it."""
    # A pawn may stand where there is a square in front of it: the next number on the last rank is another file's.
    squares &= stand(pos, colour, PAWN)
    return shift_down(squares, 1) if colour == BLACK else shift_up(squares, 1)


@jit()
def _beside(squares: Any) -> Any:
    """The squares left and right of ``squares``; beyond the board's last file too, where no piece stands."""
    return shift_up(squares, 9) | shift_down(squares, 9)


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
