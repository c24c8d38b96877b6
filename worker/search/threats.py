"""Squares where a lesser piece could take what stands there: no good place for a quiet move.

Stockfish orders quiet moves so, with the pieces of chess. Histories do not know it: they remember a piece and its
target, not what the other side has got.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bitboard import bitboard, holds, lowest, shift_down, shift_up, without_lowest
from worker.search import parameters as p
from worker.search.parts import part
from worker.shogi.attacks import lance_attacks, no_squares, occupied, pieces
from worker.shogi.pieces import BISHOP, BLACK, DROP_BIT, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER, SQUARES
from worker.shogi.state import GOLDS

_PART = part("threats")
_FIRST_RANK: Final = sum(1 << square for square in range(0, SQUARES + 1, 9))
"""The first rank, and the square behind the last of the ninth."""
_FIRST_RANK_LOW, _FIRST_RANK_HIGH = np.uint64(_FIRST_RANK & (2**64 - 1)), np.uint64(_FIRST_RANK >> 64)


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
    by_small = by_pawns
    lances = pieces(pos, own + LANCE)
    while lances:
        by_small |= lance_attacks(pos, colour, lowest(lances), occupied(pos))
        lances = without_lowest(lances)
    by_small |= _beside(_ahead(_ahead(pieces(pos, own + KNIGHT), colour), colour))
    silvers = pieces(pos, own + SILVER)
    golds = pieces(pos, own + GOLDS)
    ahead = _ahead(silvers | golds, colour)
    gold_back = _ahead(golds, 1 - colour)
    by_minor = by_small | ahead | gold_back | _beside(ahead | golds | _ahead(silvers, 1 - colour))
    return by_pawns, by_small, by_minor


@jit()
def _ahead(squares: Any, colour: int) -> Any:
    """The squares in front of ``squares``, as ``colour`` sees it."""
    last = bitboard(_FIRST_RANK_LOW, _FIRST_RANK_HIGH)
    if colour == BLACK:
        return shift_down(squares & ~last, 1)
    return shift_up(squares, 1) & ~last


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
