"""Correction history: the evaluation errors that searches found in similar positions.

A position has four keys: its pawns, its minor pieces (all but pawns, bishops, rooks and kings), and each side's pieces
other than pawns. Its last moves serve as further keys. For each key the difference between search and evaluation is
learned with gravity; the weighted sum of these corrects the evaluation. The idea is Stockfish's.

A *correction* is in units of 1 / `CORRECTION_UNIT` centipawns: the larger it is, the less the evaluation is to be
trusted here.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.jit.memory import ld16, prefetch
from worker.score import MAX_EVAL
from worker.search import parameters as p
from worker.search import parts
from worker.search.history import clamp, learn_shared
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
from worker.shogi.pieces import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
    SQUARES,
)

_SHIFT: Final = np.uint64(64 - CORRECTION_BITS)
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
"""64-bit constants, two by kind, for squares below 64 and above. A piece adds its constant, rotated by its square, to a
sum whose top bits are the key. The summand depends only on piece and square, so the key can be updated move by move."""


_PAWNS, _MINOR, _PIECES = 0, 1, 2
"""Indices of the four keys; pieces of black, then of white."""


def _key_factors() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """By piece and half of the board (squares below 64, and above), its factors in the four sums (uint64, flat)."""
    pairs = {LANCE: 0, KNIGHT: 1, SILVER: 2, GOLD: 3, KING: 4, BISHOP: 5, ROOK: 6, DRAGON: 7}
    pairs |= dict.fromkeys((PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER), pairs[GOLD])
    table = np.zeros((32, 2, CORRECTION_KEYS), np.uint64)
    for colour in range(2):
        table[colour * 16 + PAWN, :, _PAWNS] = _FACTORS[2 * colour : 2 * colour + 2]
        for kind, pair in pairs.items():
            table[colour * 16 + kind, :, _PIECES + colour] = _FACTORS[2 * pair : 2 * pair + 2]
            if pair < pairs[KING]:
                table[colour * 16 + kind, :, _MINOR] = _FACTORS[2 * pair : 2 * pair + 2] * np.uint64(5 if colour else 1)
        table[colour * 16 + HORSE, :, _PIECES + colour] = _FACTORS[2 * pairs[GOLD] : 2 * pairs[GOLD] + 2] * np.uint64(3)
    return table.ravel()


_KEY_FACTORS: Final = _key_factors()


@jit()
def _turned(factor: Any, square: int) -> Any:
    """The summand of a piece on ``square`` (uint64): its factor, rotated. A shift would lose bits on high squares."""
    return (factor << np.uint64(square & 63)) | (factor >> np.uint64(-square & 63))


@jit()
def _put(th: Any, first: int, piece: int, square: int) -> None:
    """Add a piece to the four sums from ``first`` on."""
    row = ((piece & 31) * 2 + (square >> 6)) * CORRECTION_KEYS
    for i in range(CORRECTION_KEYS):
        th.key_sums[first + i] += _turned(_KEY_FACTORS[row + i], square)


@jit()
def _take(th: Any, first: int, piece: int, square: int) -> None:
    """Remove a piece from them."""
    row = ((piece & 31) * 2 + (square >> 6)) * CORRECTION_KEYS
    for i in range(CORRECTION_KEYS):
        th.key_sums[first + i] -= _turned(_KEY_FACTORS[row + i], square)


@jit()
def note_keys(pos: Any, th: Any, ply: int) -> None:
    """Compute this position's slots in the keyed tables from its pieces. Used at the root; below it `follow_keys`
    is."""
    first = (OFFSET + ply) * CORRECTION_KEYS
    for i in range(CORRECTION_KEYS):
        th.key_sums[first + i] = np.uint64(0)
    for square in range(SQUARES):
        if pos.board[square] != 0:
            _put(th, first, np.int64(pos.board[square]), square)
    _note_places(th, ply, pos.side)


@jit()
def follow_keys(pos: Any, th: Any, ply: int, move: int, captured: int) -> None:
    """Do what `note_keys` does for the position at ``ply``, reached by ``move`` (0: a pass) from ``pos``.

    ``captured``: the piece that it takes, 0: none.
    """
    first = (OFFSET + ply) * CORRECTION_KEYS
    for i in range(CORRECTION_KEYS):
        th.key_sums[first + i] = th.key_sums[first - CORRECTION_KEYS + i]
    if move != 0:
        target = move & 127
        _put(th, first, (move >> 16) | ((move >> 11) & 8), target)
        if not (move & DROP_BIT):
            _take(th, first, move >> 16, (move >> 7) & 127)
            if captured != 0:
                _take(th, first, captured, target)
    _note_places(th, ply, 1 - pos.side)


@jit()
def _note_places(th: Any, ply: int, side: int) -> None:
    """Turn the sums into addresses, and prefetch them."""
    at = OFFSET + ply
    first = at * CORRECTION_KEYS
    pawns = th.key_sums[first]
    th.pawn_row[at] = th.shared + H_PAWN + np.int64(pawns >> np.uint64(40)) % PAWN_ROWS * (SLOTS * 2)
    if not parts.CORRECTION_HISTORY:
        return
    base = th.shared + H_CORRECTION + side * (2 * CORRECTIONS)
    for i in range(CORRECTION_KEYS):
        place = base + i * 4 * CORRECTIONS + 2 * np.int64(th.key_sums[first + i] >> _SHIFT)
        th.corrections[first + i] = place
        prefetch(place)
    slot = th.slot[at - 1]
    prefetch(th.correction_row[at - 2] + 2 * slot)
    prefetch(th.correction_row[at - 4] + 2 * slot)


@jit()
def correction_row(th: Any, slot: int) -> Any:
    """The address of the corrections after a move, by its slot; slot 0 stands for no move."""
    return th.shared + H_CORRECTION_MOVES + slot * (SLOTS * 2)


@jit()
def correction_of(th: Any, ply: int) -> Any:
    """The correction that was learned for positions like this one (int64). Expects `note_keys`."""
    if not parts.CORRECTION_HISTORY:
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
    """The corrected evaluation (int64, centipawns)."""
    value = static_eval + toward_zero(correction, np.int64(p.CORRECTION_UNIT))
    return clamp(value, np.int64(-MAX_EVAL), np.int64(MAX_EVAL))


@jit()
def _learn_share(th: Any, address: int, bonus: int, share: int) -> None:
    learn_shared(th, address, toward_zero(bonus * share, np.int64(p.CORRECTION_SHARES)), np.int64(CORRECTION_LIMIT))


@jit()
def learn_correction(th: Any, ply: int, difference: int, depth: int, best_move: int) -> None:
    """Learn from a search of ``depth`` plies: its score less the corrected evaluation. Expects `note_keys`.

    Args:
        best_move: 0: no move raised alpha.
    """
    if not parts.CORRECTION_HISTORY:
        return
    slope = np.int64(p.CORRECTION_BONUS[0] if best_move != 0 else p.CORRECTION_BONUS[1])
    most = np.int64(CORRECTION_LIMIT // 4)
    bonus = clamp(toward_zero(difference * depth * slope, np.int64(p.CORRECTION_DEPTH)), -most, most)
    bonus = toward_zero(bonus * p.CORRECTION_BONUS_SHARE, np.int64(p.GRAIN))
    at = OFFSET + ply
    first = at * CORRECTION_KEYS
    _learn_share(th, th.corrections[first], bonus, np.int64(p.CORRECTION_SHARES))
    _learn_share(th, th.corrections[first + 1], bonus, np.int64(p.CORRECTION_SHARE_MINOR))
    _learn_share(th, th.corrections[first + 2], bonus, np.int64(p.CORRECTION_SHARE_PIECES))
    _learn_share(th, th.corrections[first + 3], bonus, np.int64(p.CORRECTION_SHARE_PIECES))
    slot = th.slot[at - 1]
    if slot != 0:
        _learn_share(th, th.correction_row[at - 2] + 2 * slot, bonus, np.int64(p.CORRECTION_SHARE_TWO))
        _learn_share(th, th.correction_row[at - 4] + 2 * slot, bonus, np.int64(p.CORRECTION_SHARE_FOUR))
