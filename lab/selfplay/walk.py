"""A position as the usual 32 bytes (PackedSfen), and as the record from which a network learns.

The layout is YaneuraOu's (``extra/sfen_packer.cpp``): one bit for the side to move, seven for either king's square, a
Huffman code for every other square, then the hands; the lowest bit of a byte comes first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lab.jit import jit
from worker.jit.memory import ld16, ldu16, ldu64, st8, st16, st64
from worker.nnue.features import HANDS_OFFSET, PIECES_OFFSET
from worker.shogi.attacks import in_check
from worker.shogi.pieces import DROP_BIT, GOLD, KING, PAWN, PROMOTE_BIT, PROMOTED, SQUARES

GAME_HEAD: Final = 40
"""Bytes of a game before its moves (`lab.selfplay.shard`)."""

CODES: Final = (0, 0b1, 0b11, 0b1011, 0b111, 0b11111, 0b111111, 0b1111)
"""By unpromoted piece type, lowest bit first; 0: an empty square."""
CODE_BITS: Final = (1, 2, 4, 4, 4, 6, 6, 5)

PIECES: Final = 40
"""Pieces of a full set; in a record the two kings come last."""
RECORD_DTYPE: Final = np.dtype(
    [
        ("pieces", np.uint16, (PIECES,)),  # numbers of K+P (worker.nnue.features), from the side to move
        ("score", np.int16),  # from the side to move
        ("result", np.int8),  # 1: the side to move wins, -1: it loses, 0: a draw
        ("turn", np.uint8),  # the side to move
    ]
)
RECORD: Final = RECORD_DTYPE.itemsize
assert RECORD == 84
QUIET_SCORE: Final = 6000
"""Centipawns from which a position counts as decided, so that no net learns from it.

The field uses 3,000 at 600 centipawns per logistic unit; our nets have about 1,150. With 3,000 here no net ever saw a
position that was more than 93 % won, and its scores ended there too.
"""


@jit()
def _put(address: int, at: int, value: int, bits: int) -> int:
    """Write ``bits`` bits of ``value`` after the first ``at`` bits of zeroed memory; returns the new end."""
    word = address + (at >> 6) * 8
    shift = at & 63
    st64(word, np.int64(ldu64(word) | (np.uint64(value) << np.uint64(shift))))
    if shift + bits > 64:
        st64(word + 8, np.int64(np.uint64(value) >> np.uint64(64 - shift)))
    return at + bits


@jit()
def pack(pos: Any, address: int) -> None:
    """Write the position's 32 bytes to ``address`` (8-byte aligned). Both kings and all pieces must be there."""
    for i in range(4):
        st64(address + 8 * i, np.int64(0))
    at = _put(address, np.int64(0), pos.side, 1)
    for colour in range(2):
        at = _put(address, at, pos.ksq[colour], 7)
    for sq in range(SQUARES):
        piece: Any = np.int64(pos.board[sq])
        kind = piece & 15
        if kind == KING:
            continue
        plain = kind & 7
        at = _put(address, at, CODES[plain], CODE_BITS[plain])
        if piece == 0:
            continue
        if plain != GOLD:
            at = _put(address, at, (kind & PROMOTED) >> 3, 1)
        at = _put(address, at, piece >> 4, 1)
    for colour in range(2):
        for kind in range(PAWN, GOLD + 1):
            for _ in range(pos.hand[colour * 8 + kind]):
                at = _put(address, at, CODES[kind] >> 1, CODE_BITS[kind] - 1)
                if kind != GOLD:
                    at = _put(address, at, np.int64(0), 1)
                at = _put(address, at, np.int64(colour), 1)


@jit()
def whole_move(pos: Any, short: int) -> Any:
    """A move from its low 16 bits; a value that is no move stays none."""
    if short & DROP_BIT:
        return short | (((pos.side << 4) | ((short >> 7) & 15)) << 16)
    origin = (short >> 7) & 127
    return short | (np.int64(pos.board[origin]) << 16) if origin < SQUARES else np.int64(0)


@jit()
def is_loud(pos: Any, move: int) -> bool:
    """Whether no net learns from a position with this best move: a check, a capture or a promotion."""
    if in_check(pos) or (move & PROMOTE_BIT) != 0:
        return True
    return not (move & DROP_BIT) and pos.board[move & 127] != 0


@jit()
def write_pieces(pos: Any, tables: int, record: int) -> bool:
    """Write the numbers of all pieces. False: there are not 40, two of them kings.

    Args:
        tables: address of `worker.nnue.features.tables` of K+P.
    """
    side = pos.side
    numbers = tables + PIECES_OFFSET + side * 2 * 32 * SQUARES * 2
    count = np.int64(0)
    for sq in range(SQUARES):
        piece = np.int64(pos.board[sq])
        if piece != 0 and piece & 15 != KING:
            if count == PIECES - 2:
                return False
            st16(record + 2 * count, ld16(numbers + (piece * SQUARES + sq) * 2))
            count += 1
    for holder in range(16):
        first = ld16(tables + HANDS_OFFSET + (side * 16 + holder) * 2)
        for index in range(pos.hand[holder]):
            if count == PIECES - 2:
                return False
            st16(record + 2 * count, first + index)
            count += 1
    if count != PIECES - 2 or pos.ksq[0] < 0 or pos.ksq[1] < 0:
        return False
    for whose in range(2):
        colour = side ^ whose
        king = ld16(numbers + ((colour << 4 | KING) * SQUARES + pos.ksq[colour]) * 2)
        st16(record + 2 * (PIECES - 2 + whose), king)
    return True


@jit()
def write_record(pos: Any, tables: int, record: int, score: int, result: int) -> bool:
    """Write a record; the arguments are its fields, ``tables`` as for `write_pieces`.

    False: the position has not 40 pieces, two of them kings.
    """
    if not write_pieces(pos, tables, record):
        return False
    st16(record + 2 * PIECES, score)
    st8(record + 2 * PIECES + 2, result)
    st8(record + 2 * PIECES + 3, np.int64(pos.side))
    return True


@jit()
def game_hash(game: int, length: int) -> Any:
    """A number (uint64) determined by start and moves, the same everywhere: games are split by it."""
    value = np.uint64(0x9E3779B97F4A7C15)
    for i in range(16 + length):
        word = ldu16(game + 2 * i) if i < 16 else ldu16(game + GAME_HEAD + 2 * (i - 16))
        value = (value ^ np.uint64(word)) * np.uint64(0xFF51AFD7ED558CCD)
        value ^= value >> np.uint64(32)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(29))
