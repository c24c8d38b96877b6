"""Positions out of a game: their keys, what is going on in them, and the field's 32 bytes (PackedSfen) of each.

The layout is YaneuraOu's (``extra/sfen_packer.cpp``): one bit for the side to move, seven for either king's square, a
Huffman code for every other square, then the hands; the lowest bit of a byte comes first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lab.jit import jit
from worker.jit.memory import ldu16, ldu64, st8, st16, st64
from worker.shogi.attacks import in_check
from worker.shogi.makemove import check_move, make
from worker.shogi.pieces import DROP_BIT, GOLD, KING, PAWN, PROMOTE_BIT, PROMOTED, SQUARES

IN_CHECK: Final = 1
CAPTURES: Final = 2
"""The move takes a piece."""
PROMOTES: Final = 4

RECORD_BYTES: Final = 40
"""Bytes of a PackedSfenValue: position 32, score 2, move 2, ply 2, result 1, 1 unused."""
_MOVE_AT: Final = 34

CODES: Final = (0, 0b1, 0b11, 0b1011, 0b111, 0b11111, 0b111111, 0b1111)
"""By unpromoted piece type, lowest bit first; 0: an empty square."""
CODE_BITS: Final = (1, 2, 4, 4, 4, 6, 6, 5)


@jit()
def _put(address: int, at: int, value: int, bits: int) -> int:
    """Write ``bits`` bits of ``value`` behind the first ``at`` of zeroed memory; returns the new end."""
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
    """A move of which the low 16 bits are known; what is no move at all stays none."""
    if short & DROP_BIT:
        return short | (((pos.side << 4) | ((short >> 7) & 15)) << 16)
    origin = (short >> 7) & 127
    return short | (np.int64(pos.board[origin]) << 16) if origin < SQUARES else np.int64(0)


@jit()
def walk_game(pos: Any, moves: int, length: int, keys: int, facts: int, records: int) -> int:
    """Go through a game from its start, and note each position before its move.

    Args:
        moves: address of uint16 [length], as `lab.selfplay.game` notes them.
        keys: address of uint64 [length]: zobrist keys.
        facts: address of uint8 [length]: `IN_CHECK`, `CAPTURES`, `PROMOTES`.
        records: address of [length][`RECORD_BYTES`], of which position and move are written; 0: none.

    Returns:
        How many moves are legal, one after the other.
    """
    for i in range(length):
        short = ldu16(moves + 2 * i)
        move = whole_move(pos, short)
        if move <= 0 or not check_move(pos, move):
            return i
        what = IN_CHECK if in_check(pos) else 0
        if not (move & DROP_BIT) and pos.board[move & 127] != 0:
            what |= CAPTURES
        if move & PROMOTE_BIT:
            what |= PROMOTES
        st64(keys + 8 * i, np.int64(pos.key))
        st8(facts + i, np.int64(what))
        if records != 0:
            at = records + RECORD_BYTES * i
            pack(pos, at)
            # The field's two highest bits the other way round: drop, then promotion.
            drop, promotion = (short >> 15) & 1, (short >> 14) & 1
            st16(at + _MOVE_AT, (short & 0x3FFF) | (drop << 14) | (promotion << 15))
        make(pos, move)
    return length
