"""The evaluation of the SFNN family after its accumulators, as a function that the search calls by address.

So the search is compiled once, whatever the networks, and this code only if such a network is loaded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from worker.jit.bits import ctz
from worker.jit.fields import eight_bytes, record_at
from worker.jit.memory import ld8, ld16, ld32
from worker.nnue.evaluation import accumulator
from worker.nnue.features import HANDS_OFFSET, PIECE_NUMBERS, PIECES_OFFSET
from worker.nnue.record import NN
from worker.nnue.sfnn.jit import APART, jit
from worker.nnue.sfnn.state import SF, kernels
from worker.shogi.pieces import KING, SQUARES
from worker.shogi.state import POS

_PLANE_BYTES = 32 * SQUARES * 2
"""Bytes of the piece numbers of one perspective, not mirrored. The mirrored ones follow in memory."""


_position_at, _nnue_at, _sfnn_at = (record_at(kind) for kind in (POS, NN, SF))


@jit()
def _hand_class(pos: Any, sf: Any, colour: int) -> Any:
    total = np.int64(0)
    for kind in range(1, KING):
        held = pos.hand[colour * 8 + kind]
        if sf.hand_zones != 0:
            total += held * sf.hand_worth[kind]
        elif held > 0:
            total |= sf.hand_worth[kind]
    return min((total + 3) // 4, np.int64(7)) if sf.hand_zones != 0 else total


@jit()
def _king_class(pos: Any, sf: Any, colour: int) -> Any:
    return ld8(sf.king_class + colour * SQUARES + max(pos.ksq[colour], 0))


@jit()
def _progress_class(pos: Any, nn: Any, sf: Any) -> Any:
    """The class of game progress, from a weight for each piece and each king's square."""
    black = max(pos.ksq[0], 0)
    white = SQUARES - 1 - max(pos.ksq[1], 0)
    row0 = sf.progress_weights + black * (PIECE_NUMBERS * 4)
    row1 = sf.progress_weights + white * (PIECE_NUMBERS * 4)
    numbers0 = nn.tables + PIECES_OFFSET
    numbers1 = numbers0 + 2 * _PLANE_BYTES
    total = sf.progress_bias
    for first in range(0, SQUARES, 8):
        left = eight_bytes(pos.board, first)
        while left != 0:
            shift = np.uint64(ctz(left)) & ~np.uint64(7)
            piece = np.int64((left >> shift) & np.uint64(255))
            left &= ~(np.uint64(255) << shift)
            if piece & 15 != KING:
                at = (piece * SQUARES + first + np.int64(shift >> np.uint64(3))) * 2
                total += ld32(row0 + 4 * ld16(numbers0 + at)) + ld32(row1 + 4 * ld16(numbers1 + at))
    for holder in range(16):
        number0 = ld16(nn.tables + HANDS_OFFSET + holder * 2)
        number1 = ld16(nn.tables + HANDS_OFFSET + (16 + holder) * 2)
        for index in range(pos.hand[holder]):
            total += ld32(row0 + 4 * (number0 + index)) + ld32(row1 + 4 * (number1 + index))
    step = np.int64(0)
    while step < sf.progress - 1 and total >= sf.thresholds[step]:
        step += 1
    return step


@jit()
def stack_of(pos: Any, nn: Any, sf: Any) -> Any:
    """The number of the position's stack (int64)."""
    index = np.int64(0)
    own, other = pos.side, 1 - pos.side
    if sf.hand_classes > 1:
        index = _hand_class(pos, sf, own) * sf.hand_classes + _hand_class(pos, sf, other)
    if sf.king_classes > 1:
        index = (index * sf.king_classes + _king_class(pos, sf, own)) * sf.king_classes + _king_class(pos, sf, other)
    if sf.progress > 1:
        index = index * sf.progress + _progress_class(pos, nn, sf)
    return index


@jit()
def _output(pos_address: int, nn_address: int) -> Any:
    """The raw output (int64) for the position and the evaluation state at these addresses, with valid accumulators."""
    pos, nn = _position_at(pos_address), _nnue_at(nn_address)
    sf = _sfnn_at(nn.sfnn)
    stack = sf.stacks + stack_of(pos, nn, sf) * sf.stack_bytes
    own, enemy = accumulator(nn, pos.ply, pos.side), accumulator(nn, pos.ply, 1 - pos.side)
    return kernels.forward(own, enemy, stack, sf)


@cache
def output_address() -> int:
    """The address of `_output` in this process; compiles it or loads it from the cache."""
    return APART.address(_output)
