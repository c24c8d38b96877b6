"""The compiled part of the trainer besides its loader (`lab.training.replay`): sums of rows of the feature transformer
on a CPU and their gradients, the player's own evaluation of records, and the inputs of attack networks.

A product with a sparse matrix, or a bag of embeddings, computes the same sums more slowly; they are used on a GPU.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.jit import jit
from lab.selfplay.walk import PIECES, RECORD
from lab.training.replay import clear
from worker.jit.memory import aligned_zeros, ld16, ldu16, st8, st64
from worker.nnue.attack_inputs import EVALUATION, INPUTS, MOST, write_inputs
from worker.nnue.attack_network import EVALUATION_SHIFT
from worker.nnue.evaluation import evaluate_full
from worker.nnue.features import BOARD_BASE, HAND_BASE, K_P, board_number, hand_number
from worker.nnue.kernels import kernels
from worker.shogi.makemove import toggle_piece
from worker.shogi.pieces import KING, MAX_IN_GAME, SQUARES, WHITE
from worker.shogi.state import new_record


@jit()
def sum_rows(weight: Any, bias: Any, rows: Any, out: Any, column: int, top: Any, first: int, last: int) -> None:
    """Write the clipped sums of the positions from ``first`` up to, but not including, ``last``.

    Args:
        weight: float32 [features][width]; ``bias``: float32 [width].
        rows: int32 [positions][active].
        out: float32 [positions][more]; of each position ``width`` values from ``column`` on are written.
        top: float32; sums are clipped to 0 … top.
    """
    width = weight.shape[1]
    active = rows.shape[1]
    total = np.empty(width, np.float32)
    zero = np.float32(0)
    for i in range(first, last):
        for c in range(width):
            total[c] = bias[c]
        for k in range(active):
            row = weight[rows[i, k]]
            for c in range(width):
                total[c] += row[c]
        target = out[i]
        for c in range(width):
            target[column + c] = min(max(total[c], zero), top)


@jit()
def add_slopes(rows: Any, out: Any, slopes: Any, column: int, top: Any, into: Any, bias: Any, a: int, b: int) -> None:
    """Add the gradients of the sums for the rows and the bias; for clipped sums they are 0.

    Args:
        rows, out, column, top: as passed to `sum_rows`, with its output.
        slopes: gradients of ``out``.
        into: float32 [features][width]; ``bias``: float32 [width]. Only the columns from ``a`` up to ``b`` (excluded),
            so that threads with separate columns do not collide, and the sums do not depend on their number.
    """
    width = b - a
    active = rows.shape[1]
    slope = np.empty(width, np.float32)
    zero = np.float32(0)
    for i in range(rows.shape[0]):
        value = out[i, column + a : column + b]
        given = slopes[i, column + a : column + b]
        for c in range(width):
            slope[c] = given[c] if value[c] > zero and value[c] < top else zero
        for c in range(width):
            bias[a + c] += slope[c]
        for k in range(active):
            target = into[rows[i, k], a:b]
            for c in range(width):
                target[c] += slope[c]


_IN_HAND: Final = 1 << 12


def piece_codes() -> npt.NDArray[np.int16]:
    """By number of K+P, the piece that black sees there, int16: piece << 7 | square, or `_IN_HAND` | colour * 8 +
    type."""
    codes = aligned_zeros(K_P.dimensions, np.int16)
    for colour in (0, WHITE):
        for kind in (*reversed(tuple(BOARD_BASE)), KING):  # of pieces with one number the gold comes last and wins
            for sq in range(SQUARES):
                codes[board_number(K_P, 0, colour << 4 | kind, sq)] = (colour << 4 | kind) << 7 | sq
        for kind in HAND_BASE:
            first = hand_number(K_P, 0, colour, kind)
            codes[first : first + MAX_IN_GAME[kind]] = _IN_HAND | colour * 8 + kind
    return codes


@jit()
def _set_up(pos: Any, record: int, codes: int) -> None:
    """Set up the position of the record at this address. The side to move becomes black."""
    clear(pos)
    pos.side = np.int64(0)
    for k in range(PIECES):
        code = ld16(codes + 2 * ldu16(record + 2 * k))
        if code & _IN_HAND:
            pos.hand[code & 15] += 1
            continue
        piece = code >> 7
        pos.board[code & 127] = np.int8(piece)
        toggle_piece(pos, piece, code & 127)
        if piece & 15 == KING:
            pos.ksq[piece >> 4] = code & 127


@jit()
def evaluate_records(pos: Any, nn: Any, records: int, count: int, codes: int, out: int) -> None:
    """Write the raw output (int64) for each record. The side to move is set up as black, without effect on the result.

    Args:
        records: address of [count] of `lab.selfplay.walk.RECORD_DTYPE`.
        codes: address of `piece_codes`.
        out: address of int64 [count].
    """
    for i in range(count):
        _set_up(pos, records + i * RECORD, codes)
        # Accumulators are looked up by keys; here each position is computed from all its pieces.
        st64(out + 8 * i, np.int64(evaluate_full(pos, nn)))


@jit()
def write_attack_inputs(pos: Any, records: int, count: int, codes: int, buffer: int, out: int) -> None:
    """Write the inputs of an attack network for each record.

    Args:
        records, count, codes: as those of `evaluate_records`.
        buffer: address of `INPUTS` values as the kernels have them.
        out: address of uint8 [count][INPUTS].
    """
    for i in range(count):
        _set_up(pos, records + i * RECORD, codes)
        write_inputs(pos, buffer)
        for number in range(INPUTS):
            st8(out + i * INPUTS + number, np.int64(kernels.get(buffer, number)))


def attack_inputs(records: npt.NDArray[np.void], evaluations: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The inputs of an attack network (`worker.nnue.attack_inputs`) in positions: uint8 [n, `INPUTS`].

    Args:
        records: of `lab.selfplay.walk.RECORD_DTYPE`, [n].
        evaluations: the raw output of the network beside it, [n].
    """
    records, codes = np.ascontiguousarray(records), piece_codes()
    found, buffer = np.zeros((len(records), INPUTS), np.uint8), aligned_zeros(2 * INPUTS, np.uint8)
    write_attack_inputs(
        new_record(), records.ctypes.data, len(records), codes.ctypes.data, buffer.ctypes.data, found.ctypes.data
    )
    found[:, EVALUATION] = ((evaluations >> EVALUATION_SHIFT) + (MOST + 1) // 2).clip(0, MOST)
    return found
