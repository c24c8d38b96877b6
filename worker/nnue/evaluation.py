"""The evaluation that the search calls. ``pos`` is a Record of `worker.shogi.state.POS`, ``nn`` one of `record.NN`.

Accumulators are lazy: they are computed when a position is evaluated, from the nearest ancestor that has them. If no
ancestor can serve, for example after a king move that changes every row, `refresh` starts from the last position that
was computed with the own king on this square: most of its pieces still stand there (Stockfish's Finny tables).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import ctz
from worker.jit.fields import eight_bytes, record_address
from worker.jit.memory import call_at, ld16, ld32, ldu8, ldu64, st8, st64
from worker.nnue.attack_network import attack_value
from worker.nnue.features import HANDS_OFFSET, KINGS_OFFSET
from worker.nnue.kernels import kernels
from worker.nnue.record import BOARD_BYTES, MAX_ACTIVE, SLOTS
from worker.score import MAX_EVAL
from worker.shogi.pieces import DROP_BIT, KING, SQUARES

_WALK: Final = 12
"""How many plies to go back in search of a valid accumulator. A refresh costs about as much as six updates, but updates
leave accumulators for the positions in between."""


@jit()
def accumulator(nn: Any, ply: int, perspective: int) -> Any:
    """Address (int64) of the accumulator of a ply for one perspective: int16 [width]."""
    return nn.accumulators + ((ply & (SLOTS - 1)) * 2 + perspective) * nn.row_bytes


@jit()
def key_address(nn: Any, ply: int, perspective: int) -> Any:
    return nn.keys + ((ply & (SLOTS - 1)) * 2 + perspective) * 8


@jit()
def mark_valid(pos: Any, nn: Any, ply: int, perspective: int) -> None:
    st64(key_address(nn, ply, perspective), np.int64(pos.st_key[ply]))


@jit()
def is_valid(pos: Any, nn: Any, ply: int, perspective: int) -> Any:
    return ldu64(key_address(nn, ply, perspective)) == pos.st_key[ply]


@jit()
def king_place(pos: Any, nn: Any, perspective: int) -> Any:
    """The addresses (int64) of the own king's block of rows, and of the board pieces' numbers for that block.

    A side without a king gets those of a king on square 0.
    """
    entry = nn.tables + KINGS_OFFSET + (perspective * SQUARES + max(pos.ksq[perspective], 0)) * 8
    return nn.transformer_weight + ld32(entry) * nn.row_bytes, nn.tables + ld32(entry + 4)


@jit()
def piece_row(nn: Any, block: int, numbers: int, piece: int, square: int) -> Any:
    return block + ld16(numbers + (piece * SQUARES + square) * 2) * nn.row_bytes


@jit()
def hand_row(nn: Any, block: int, perspective: int, holder: int, index: int) -> Any:
    """The address (int64) of the row of a piece in hand; ``holder``: colour * 8 + type."""
    number = ld16(nn.tables + HANDS_OFFSET + (perspective * 16 + holder) * 2)
    return block + (number + index) * nn.row_bytes


@jit()
def refresh(pos: Any, nn: Any, perspective: int) -> None:
    """Compute the accumulator of the current position from the one that is stored for this own king's square.

    The stored entry has an accumulator, a board and hands. Every piece that differs is removed or added.
    """
    block, numbers = king_place(pos, nn, perspective)
    kept = nn.kept + (perspective * SQUARES + max(pos.ksq[perspective], 0)) * nn.kept_bytes
    board = kept + nn.row_bytes
    hands = board + BOARD_BYTES
    added = nn.rows
    first_removed = nn.rows + 8 * MAX_ACTIVE
    removed = first_removed
    for first in range(0, SQUARES, 8):
        now = eight_bytes(pos.board, first)
        before = ldu64(board + first)
        differ = now ^ before
        if differ != 0:
            st64(board + first, np.int64(now))
            while differ != 0:
                shift = np.uint64(ctz(differ)) & ~np.uint64(7)
                differ &= ~(np.uint64(255) << shift)
                square = first + np.int64(shift >> np.uint64(3))
                piece = np.int64((before >> shift) & np.uint64(255))
                if piece != 0:
                    st64(removed, piece_row(nn, block, numbers, piece, square))
                    removed += 8
                piece = np.int64((now >> shift) & np.uint64(255))
                if piece != 0:
                    st64(added, piece_row(nn, block, numbers, piece, square))
                    added += 8
    for holder in range(16):
        held = pos.hand[holder]
        before_held = ldu8(hands + holder)
        if held != before_held:
            for index in range(held, before_held):
                st64(removed, hand_row(nn, block, perspective, holder, index))
                removed += 8
            for index in range(before_held, held):
                st64(added, hand_row(nn, block, perspective, holder, index))
                added += 8
            st8(hands + holder, held)
    target = accumulator(nn, pos.ply, perspective)
    kernels.change_rows(target, kept, nn.row_bytes, nn.rows, added, first_removed, removed)
    mark_valid(pos, nn, pos.ply, perspective)
    nn.refreshes += 1


@jit()
def _update(pos: Any, nn: Any, block: int, numbers: int, ply: int, perspective: int) -> None:
    """Compute the accumulator of ``ply + 1`` from that of ``ply``; the own king has stayed in its `king_place`."""
    source = accumulator(nn, ply, perspective)
    target = accumulator(nn, ply + 1, perspective)
    move = pos.st_move[ply]
    if move == 0:
        kernels.copy_row(target, source, nn.row_bytes)
    else:
        piece = move >> 16
        square = move & 127
        origin = (move >> 7) & 127
        hand = (piece >> 4) * 8
        added = piece_row(nn, block, numbers, piece | ((move >> 11) & 8), square)
        if move & DROP_BIT:
            removed = hand_row(nn, block, perspective, hand + origin, pos.st_hand[ply])
        else:
            removed = piece_row(nn, block, numbers, piece, origin)
        captured = pos.st_captured[ply]
        if captured == 0:
            kernels.exchange_row(target, source, nn.row_bytes, added, removed)
        else:
            added2 = hand_row(nn, block, perspective, hand + (captured & 7), pos.st_hand[ply])
            removed2 = piece_row(nn, block, numbers, captured, square)
            kernels.exchange_two_rows(target, source, nn.row_bytes, added, added2, removed, removed2)
    mark_valid(pos, nn, ply + 1, perspective)
    nn.updates += 1


@jit()
def ensure(pos: Any, nn: Any, perspective: int) -> None:
    """Make the accumulator of the current ply valid: by updates from a near ancestor, otherwise by a refresh."""
    ply = pos.ply
    own_king = (perspective << 4) | KING
    nearest = ply
    while not is_valid(pos, nn, nearest, perspective):
        if nearest == 0 or ply - nearest == _WALK:
            refresh(pos, nn, perspective)
            return
        nearest -= 1
        if nn.king_rows != 0 and pos.st_move[nearest] >> 16 == own_king:
            refresh(pos, nn, perspective)
            return
    if nearest < ply:
        block, numbers = king_place(pos, nn, perspective)
        while nearest < ply:
            _update(pos, nn, block, numbers, nearest, perspective)
            nearest += 1


@jit()
def _output(pos: Any, nn: Any) -> Any:
    if nn.output != 0:
        return call_at(nn.output, record_address(pos), record_address(nn))
    value = kernels.forward(accumulator(nn, pos.ply, pos.side), accumulator(nn, pos.ply, 1 - pos.side), nn)
    if nn.attack_weight1 != 0:
        value += attack_value(pos, nn, value)
    return value


@jit()
def prepare(pos: Any, nn: Any) -> None:
    """Compute the position's accumulators now: the evaluations of its children need them too."""
    if nn.attacked != 0:
        call_at(nn.attacked, record_address(pos), record_address(nn))
        return
    for perspective in range(2):
        ensure(pos, nn, perspective)


@jit()
def evaluate(pos: Any, nn: Any) -> Any:
    """The network's raw output (int64) for the side to move, before FV_SCALE."""
    prepare(pos, nn)
    return _output(pos, nn)


@jit()
def evaluate_full(pos: Any, nn: Any) -> Any:
    """The same value as `evaluate` (int64), computed from all pieces without earlier accumulators."""
    for perspective in range(2):
        if nn.attacked == 0:
            refresh(pos, nn, perspective)
        else:
            st64(key_address(nn, pos.ply, perspective), ~np.int64(pos.st_key[pos.ply]))
    prepare(pos, nn)
    return _output(pos, nn)


@jit()
def centipawns(raw: int, fv_scale: int) -> Any:
    """A raw output in centipawns (int64): divided with truncation, as YaneuraOu does, and limited to `MAX_EVAL`."""
    value = raw // fv_scale if raw >= 0 else -(-raw // fv_scale)
    return max(-MAX_EVAL, min(MAX_EVAL, value))


@jit()
def evaluate_score(pos: Any, nn: Any) -> Any:
    """The score (`worker.score`) of the position for the side to move, int64 centipawns."""
    return centipawns(evaluate(pos, nn), nn.fv_scale)
