"""Accumulators of features whose rows depend on attacks (HalfKPE9).

A piece on the board has one of nine rows: ``3 * own + enemy``, in which both are the number of attackers of its square,
0, 1 or 2 (for two and more), kings included. Rows of pieces in hand are those of class 0. A move changes the attacks
of many squares, so an accumulator is computed from the stored one for the own king's square, as in
`evaluation.refresh`: every piece whose row differs is removed and added. Attacks are counted for all squares at once,
in two bitboards for each side: attacked at least once, and at least twice.

Source: YaneuraOu ``eval/nnue/features/half_kpe9`` and ``extra/long_effect`` (read, not copied).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from worker.jit.bits import ctz, high, holds, ld_bb, low, lowest, single, without_lowest
from worker.jit.fields import eight_bytes, record_at
from worker.jit.memory import ldu8, ldu64, st8, st64
from worker.nnue.apart import Apart
from worker.nnue.evaluation import accumulator, hand_row, is_valid, king_place, mark_valid, piece_row
from worker.nnue.kernels import kernels
from worker.nnue.record import BOARD_BYTES, HANDS_BYTES, MAX_ACTIVE, NN
from worker.shogi.attacks import add_attacks, occupied, pieces, stepping_attacks
from worker.shogi.pieces import KNIGHT, PAWN, SILVER, SQUARES
from worker.shogi.state import GOLDS, POS

_APART: Final = Apart("attacked", [Path(__file__)])
jit: Final = _APART.jit
_position_at, _nnue_at = record_at(POS), record_at(NN)


@jit()
def _attacks(pos: Any, colour: int, occ: Any) -> Any:
    """The squares that ``colour`` attacks at least once, and at least twice."""
    own = colour * 16
    stepping = pieces(pos, own + PAWN) | pieces(pos, own + KNIGHT) | pieces(pos, own + SILVER)
    stepping |= pieces(pos, own + GOLDS)
    once, twice = stepping_attacks(pos, colour)
    return add_attacks(pos, colour, pieces(pos, own) & ~stepping, occ, once, twice)


@jit()
def _row(nn: Any, block: int, numbers: int, piece: int, square: int, attacks: Any) -> Any:
    """The address of the row of a piece on the board."""
    own, own_twice, enemy, enemy_twice = attacks
    count = 3 * (np.int64(holds(own, square)) + np.int64(holds(own_twice, square)))
    count += np.int64(holds(enemy, square)) + np.int64(holds(enemy_twice, square))
    return piece_row(nn, block, numbers, piece, square) + count * nn.class_bytes


@jit()
def _store(at: int, squares: Any) -> None:
    st64(at, np.int64(low(squares)))
    st64(at + 8, np.int64(high(squares)))


@jit()
def _refresh(pos: Any, nn: Any, perspective: int, occ: Any, now: Any) -> None:
    """Compute one accumulator; ``now``: the attacks of the own side, then of the enemy."""
    block, numbers = king_place(pos, nn, perspective)
    kept = nn.kept + (perspective * SQUARES + max(pos.ksq[perspective], 0)) * nn.kept_bytes
    board = kept + nn.row_bytes
    hands = board + BOARD_BYTES
    stored = hands + HANDS_BYTES
    before = (ld_bb(stored), ld_bb(stored + 16), ld_bb(stored + 32), ld_bb(stored + 48))
    own, own_twice, enemy, enemy_twice = now
    left = (before[0] ^ own) | (before[1] ^ own_twice) | (before[2] ^ enemy) | (before[3] ^ enemy_twice)
    left &= occ
    _store(stored, own)
    _store(stored + 16, own_twice)
    _store(stored + 32, enemy)
    _store(stored + 48, enemy_twice)
    added = nn.rows
    first_removed = nn.rows + 8 * MAX_ACTIVE
    removed = first_removed
    for first in range(0, SQUARES, 8):
        word = eight_bytes(pos.board, first)
        old_word = ldu64(board + first)
        differ = word ^ old_word
        if differ != 0:
            st64(board + first, np.int64(word))
            while differ != 0:
                shift = np.uint64(ctz(differ)) & ~np.uint64(7)
                differ &= ~(np.uint64(255) << shift)
                square = first + np.int64(shift >> np.uint64(3))
                left &= ~single(square)
                piece = np.int64((old_word >> shift) & np.uint64(255))
                if piece != 0:
                    st64(removed, _row(nn, block, numbers, piece, square, before))
                    removed += 8
                piece = np.int64((word >> shift) & np.uint64(255))
                if piece != 0:
                    st64(added, _row(nn, block, numbers, piece, square, now))
                    added += 8
    while left:
        square = lowest(left)
        left = without_lowest(left)
        piece = np.int64(pos.board[square])
        st64(removed, _row(nn, block, numbers, piece, square, before))
        removed += 8
        st64(added, _row(nn, block, numbers, piece, square, now))
        added += 8
    for holder in range(16):
        held = pos.hand[holder]
        old_held = ldu8(hands + holder)
        if held != old_held:
            for index in range(held, old_held):
                st64(removed, hand_row(nn, block, perspective, holder, index))
                removed += 8
            for index in range(old_held, held):
                st64(added, hand_row(nn, block, perspective, holder, index))
                added += 8
            st8(hands + holder, held)
    target = accumulator(nn, pos.ply, perspective)
    kernels.change_rows(target, kept, nn.row_bytes, nn.rows, added, first_removed, removed)
    mark_valid(pos, nn, pos.ply, perspective)
    nn.refreshes += 1


@jit()
def _both(pos_address: int, nn_address: int) -> Any:
    """Make the accumulators of the position and the evaluation state at these addresses valid. Returns 0."""
    pos, nn = _position_at(pos_address), _nnue_at(nn_address)
    if not is_valid(pos, nn, pos.ply, 0):
        occ = occupied(pos)
        black, black_twice = _attacks(pos, np.int64(0), occ)
        white, white_twice = _attacks(pos, np.int64(1), occ)
        _refresh(pos, nn, np.int64(0), occ, (black, black_twice, white, white_twice))
        _refresh(pos, nn, np.int64(1), occ, (white, white_twice, black, black_twice))
    return np.int64(0)


@cache
def accumulators_address() -> int:
    """The address of `_both` in this process; compiles it or loads it from the cache."""
    return _APART.address(_both)
