"""Correction history: how far the search has found the evaluation wrong in positions with something in common.

A position has four keys: its pawns, its minor pieces (all but pawns, bishops, rooks and kings' own), and the pieces
other than pawns of either side; and it has its last moves. Under each the difference between search and evaluation is
learned with gravity; their weighted sum corrects the evaluation. The idea is Stockfish's.

A *correction* is in units of 1 / `CORRECTION_UNIT` centipawns: its size also says how little the evaluation is to be
trusted here.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.memory import ld16, prefetch
from worker.score import MAX_EVAL
from worker.search import parameters as p
from worker.search.history import clamp, learn, toward_zero
from worker.search.parts import part
from worker.search.state import (
    CORRECTION_BITS,
    CORRECTION_KEYS,
    CORRECTION_LIMIT,
    CORRECTIONS,
    H_CORRECTION,
    H_CORRECTION_MOVES,
    H_PAWN,
    OFFSET,
    PAWN_ROWS,
    SLOTS,
)
from worker.shogi.pieces import BISHOP, DRAGON, HORSE, KING, KNIGHT, LANCE, PAWN, ROOK, SILVER
from worker.shogi.state import GOLDS

_PART = part("correction_history")
_SHIFT: Final = np.uint64(64 - CORRECTION_BITS)
_FOLD: Final = np.uint64(29)
_FACTORS: Final = np.array(
    [
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
        0xE7037ED1A0B428DB,
        0x8EBC6AF09C88C6E3,
        0x589965CC75374CC3,
        0x1D8E4E27C47D124F,
        0xBF58476D1CE4E5B9,
        0x94D049BB133111EB,
        0xFF51AFD7ED558CCD,
        0xC4CEB9FE1A85EC53,
        0x2545F4914F6CDD1D,
        0xDA942042E4DD58B5,
        0x9FB21C651E98DF25,
        0xD1342543DE82EF95,
    ],
    np.uint64,
)
"""Odd 64-bit constants: a sum of words times these, read from its top, is a hash."""


@jit()
def _kind_hash(pos: Any, piece: int, number: int) -> Any:
    """Of the squares of a piece, by the ``number``-th pair of factors."""
    low = pos.bb[2 * piece]
    # A product's bit depends on no higher bit of the word: without this fold the last files would hardly count.
    low ^= low >> _FOLD
    return low * _FACTORS[2 * number] + pos.bb[2 * piece + 1] * _FACTORS[2 * number + 1]


@jit()
def _small_hash(pos: Any, colour: int) -> Any:
    """Of a colour's lances, knights, silvers and gold movers."""
    own = colour * 16
    total = _kind_hash(pos, own + LANCE, np.int64(0)) + _kind_hash(pos, own + KNIGHT, np.int64(1))
    return total + _kind_hash(pos, own + SILVER, np.int64(2)) + _kind_hash(pos, own + GOLDS, np.int64(3))


@jit()
def _large_hash(pos: Any, colour: int) -> Any:
    """Of a colour's king, bishops and rooks, promoted or not."""
    own = colour * 16
    total = _kind_hash(pos, own + KING, np.int64(4)) + _kind_hash(pos, own + BISHOP, np.int64(5))
    total += _kind_hash(pos, own + ROOK, np.int64(6)) + _kind_hash(pos, own + DRAGON, np.int64(7))
    return total + _kind_hash(pos, own + HORSE, np.int64(3)) * np.uint64(3)


@jit()
def note_keys(pos: Any, th: Any, ply: int) -> None:
    """Find this position's places in the tables by key: call once on entering a node."""
    at = OFFSET + ply
    pawns = _kind_hash(pos, np.int64(PAWN), np.int64(0)) + _kind_hash(pos, np.int64(16 + PAWN), np.int64(1))
    th.pawn_row[at] = th.histories + H_PAWN + np.int64(pawns >> np.uint64(40)) % PAWN_ROWS * (SLOTS * 2)
    if not _PART:
        return
    black, white = _small_hash(pos, np.int64(0)), _small_hash(pos, np.int64(1))
    minor = black + white * np.uint64(5)
    black += _large_hash(pos, np.int64(0))
    white += _large_hash(pos, np.int64(1))
    base = th.histories + H_CORRECTION + pos.side * (2 * CORRECTIONS)
    first = at * CORRECTION_KEYS
    th.corrections[first] = base + 2 * np.int64(pawns >> _SHIFT)
    th.corrections[first + 1] = base + 4 * CORRECTIONS + 2 * np.int64(minor >> _SHIFT)
    th.corrections[first + 2] = base + 8 * CORRECTIONS + 2 * np.int64(black >> _SHIFT)
    th.corrections[first + 3] = base + 12 * CORRECTIONS + 2 * np.int64(white >> _SHIFT)
    for i in range(CORRECTION_KEYS):
        prefetch(th.corrections[first + i])
    slot = th.slot[at - 1]
    prefetch(th.correction_row[at - 2] + 2 * slot)
    prefetch(th.correction_row[at - 4] + 2 * slot)


@jit()
def correction_row(th: Any, slot: int) -> Any:
    """The address of the corrections after a move, by its slot; slot 0 stands for no move."""
    return th.histories + H_CORRECTION_MOVES + slot * (SLOTS * 2)


@jit()
def correction_of(th: Any, ply: int) -> Any:
    """What was learned of positions like this one (int64, a correction). Expects `note_keys`."""
    if not _PART:
        return np.int64(0)
    at = OFFSET + ply
    first = at * CORRECTION_KEYS
    moves = np.int64(p.CORRECTION_NO_MOVE)
    slot = th.slot[at - 1]
    if slot != 0:
        moves = ld16(th.correction_row[at - 2] + 2 * slot) + ld16(th.correction_row[at - 4] + 2 * slot)
    total = p.CORRECTION_PAWN * ld16(th.corrections[first]) + p.CORRECTION_MINOR * ld16(th.corrections[first + 1])
    total += p.CORRECTION_PIECES * (ld16(th.corrections[first + 2]) + ld16(th.corrections[first + 3]))
    return total + p.CORRECTION_MOVES * moves


@jit()
def corrected(static_eval: int, correction: int) -> Any:
    """The evaluation as the search has learned to see it (int64, centipawns)."""
    value = static_eval + toward_zero(correction, np.int64(p.CORRECTION_UNIT))
    return clamp(value, np.int64(-MAX_EVAL), np.int64(MAX_EVAL))


@jit()
def _learn_share(address: int, bonus: int, share: int) -> None:
    learn(address, toward_zero(bonus * share, np.int64(p.CORRECTION_SHARES)), np.int64(CORRECTION_LIMIT))


@jit()
def learn_correction(th: Any, ply: int, difference: int, depth: int, has_best: bool) -> None:
    """Take over what a search of ``depth`` found: its score less the corrected evaluation. Expects `note_keys`."""
    if not _PART:
        return
    slope = p.CORRECTION_BONUS[0] if has_best else p.CORRECTION_BONUS[1]
    most = np.int64(CORRECTION_LIMIT // 4)
    bonus = clamp(toward_zero(difference * depth * slope, np.int64(p.CORRECTION_DEPTH)), -most, most)
    bonus = toward_zero(bonus * p.CORRECTION_BONUS_SHARE, np.int64(p.GRAIN))
    at = OFFSET + ply
    first = at * CORRECTION_KEYS
    _learn_share(th.corrections[first], bonus, np.int64(p.CORRECTION_SHARES))
    _learn_share(th.corrections[first + 1], bonus, np.int64(p.CORRECTION_SHARE_MINOR))
    _learn_share(th.corrections[first + 2], bonus, np.int64(p.CORRECTION_SHARE_PIECES))
    _learn_share(th.corrections[first + 3], bonus, np.int64(p.CORRECTION_SHARE_PIECES))
    slot = th.slot[at - 1]
    if slot != 0:
        _learn_share(th.correction_row[at - 2] + 2 * slot, bonus, np.int64(p.CORRECTION_SHARE_TWO))
        _learn_share(th.correction_row[at - 4] + 2 * slot, bonus, np.int64(p.CORRECTION_SHARE_FOUR))
