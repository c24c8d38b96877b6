"""Correction history: how far the search has found the evaluation wrong in positions with something in common.

A position has four keys: its pawns, its generals and king squares, its pieces in hand, the last two moves. Under each
the difference between search and evaluation is learned with gravity; the sum over the keys corrects the evaluation.
The idea is Stockfish's; that hands are a key of their own is shogi's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.memory import ld16, st16
from worker.score import MAX_EVAL
from worker.search.state import CORRECTION_BITS, CORRECTION_LIMIT, CORRECTIONS, H_CORRECTION, OFFSET
from worker.shogi.pieces import PAWN, SILVER
from worker.shogi.state import GOLDS

_SHIFT: Final = np.uint64(64 - CORRECTION_BITS)
_FACTORS: Final = tuple(
    np.uint64(value)
    for value in (
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
        0xE7037ED1A0B428DB,
        0x8EBC6AF09C88C6E3,
        0x589965CC75374CC3,
        0x1D8E4E27C47D124F,
    )
)
"""Odd 64-bit constants: a sum of words times these, read from its top, is a hash."""
_F0, _F1, _F2, _F3, _F4, _F5, _F6, _F7 = _FACTORS
_SCALE: Final = 32
"""Sum of the entries to a centipawn."""
_STEP: Final = CORRECTION_LIMIT // 4


@jit()
def _words_hash(pos: Any, kind: int) -> Any:
    """Of the squares of both colours' pieces of a kind."""
    black, white = 2 * kind, 2 * (16 + kind)
    total = pos.bb[black] * _F0 + pos.bb[black + 1] * _F1
    return total + pos.bb[white] * _F2 + pos.bb[white + 1] * _F3


@jit()
def _entry(pos: Any, th: Any, number: int, hashed: Any) -> Any:
    index = (number * 2 + pos.side) * CORRECTIONS + np.int64(hashed >> _SHIFT)
    return th.histories + H_CORRECTION + 2 * index


@jit()
def _pawns(pos: Any, th: Any) -> Any:
    return _entry(pos, th, np.int64(0), _words_hash(pos, np.int64(PAWN)))


@jit()
def _generals(pos: Any, th: Any) -> Any:
    kings = np.uint64(pos.ksq[0] + 1) * _F4 + np.uint64(pos.ksq[1] + 1) * _F5
    hashed = kings + _words_hash(pos, np.int64(GOLDS)) * _F6 + _words_hash(pos, np.int64(SILVER)) * _F7
    return _entry(pos, th, np.int64(1), hashed)


@jit()
def _hands(pos: Any, th: Any) -> Any:
    packed = np.int64(0)
    for holder in range(16):
        packed = packed * 5 + pos.hand[holder]
    return _entry(pos, th, np.int64(2), np.uint64(packed) * _F0)


@jit()
def _moves(pos: Any, th: Any, ply: int) -> Any:
    hashed = np.uint64(th.slot[OFFSET + ply - 1]) * _F1 + np.uint64(th.slot[OFFSET + ply - 2]) * _F2
    return _entry(pos, th, np.int64(3), hashed)


@jit()
def corrected(pos: Any, th: Any, ply: int, static_eval: int) -> Any:
    """The evaluation as the search has learned to see it (int64, centipawns)."""
    total = ld16(_pawns(pos, th)) + ld16(_generals(pos, th)) + ld16(_hands(pos, th)) + ld16(_moves(pos, th, ply))
    return min(np.int64(MAX_EVAL), max(np.int64(-MAX_EVAL), static_eval + total // _SCALE))


@jit()
def _learn(address: int, step: int) -> None:
    value = ld16(address)
    st16(address, value + step - value * abs(step) // CORRECTION_LIMIT)


@jit()
def learn_correction(pos: Any, th: Any, ply: int, difference: int, depth: int) -> None:
    """Take over what a search of ``depth`` found: its score less the corrected evaluation."""
    step = min(np.int64(_STEP), max(np.int64(-_STEP), difference * depth // 8))
    _learn(_pawns(pos, th), step)
    _learn(_generals(pos, th), step)
    _learn(_hands(pos, th), step)
    _learn(_moves(pos, th, ply), step)
