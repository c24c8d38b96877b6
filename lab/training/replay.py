"""Games to records of positions, and records to rows of a network's inputs: the compiled part of the trainer's loader.

A *record* (`lab.selfplay.walk.RECORD_DTYPE`) is a position as its side to move sees it. Small tables derive the inputs
of every feature set from its numbers, so one replay serves all of them.

numba notices by itself when this file changes. The other functions that it calls are in packages whose change empties
the cache. Constants come from there too, or from here.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lab.jit import jit
from lab.selfplay.state import LONGEST_GAME
from lab.selfplay.walk import (
    CODE_BITS,
    CODES,
    GAME_HEAD,
    PIECES,
    QUIET_SCORE,
    RECORD,
    game_hash,
    is_loud,
    whole_move,
    write_record,
)
from worker.jit.memory import ld16, ld32, ldu8, ldu16, ldu64, st16, st32
from worker.nnue.features import PIECE_NUMBERS
from worker.shogi.makemove import check_move, make, toggle_piece
from worker.shogi.pieces import GOLD, KING, PROMOTED, SQUARES

TRAINING: Final = 0
VALIDATION: Final = 1

# The reasons why a shard cannot be replayed; `replay_games` returns one of them.
CUT: Final = 1
NO_POSITION: Final = 2
ILLEGAL: Final = 3
TOO_MANY: Final = 4

_LENGTH_AT, _RESULT_AT = 34, 36
_LEAST_CHANCE: Final = 1e-9
_LARGEST_LABEL: Final = 32_000.0
"""Centipawns."""

_NUMBERS: Final = PIECE_NUMBERS + 2 * SQUARES
"""Piece numbers of K+P, including those of the two kings."""


def _codes(codes: tuple[int, ...], lengths: tuple[int, ...], window: int) -> tuple[int, ...]:
    """By the next ``window`` bits: piece type | bits of its code << 8; -1: no piece has such a code."""
    found = [-1] * (1 << window)
    for kind, (code, length) in enumerate(zip(codes, lengths, strict=True)):
        for rest in range(1 << (window - length)):
            found[code | rest << length] = kind | length << 8
    return tuple(found)


_BOARD_CODES: Final = _codes(CODES, CODE_BITS, 6)
_HAND_CODES: Final = tuple(
    entry if entry & 15 else -1
    for entry in _codes((0b11111, *(code >> 1 for code in CODES[1:])), (5, *(bits - 1 for bits in CODE_BITS[1:])), 5)
)


@jit()
def _bits(address: int, at: int, count: int) -> int:
    """Up to 8 bits of a PackedSfen from bit ``at`` on; the rest of a game's header follows it."""
    first = address + (at >> 3)
    return ((ldu8(first) | (ldu8(first + 1) << 8)) >> (at & 7)) & ((1 << count) - 1)


@jit()
def clear(pos: Any) -> None:
    """Remove every piece."""
    for i in range(len(pos.bb)):
        pos.bb[i] = np.uint64(0)
    for i in range(len(pos.board)):
        pos.board[i] = np.int8(0)
    for i in range(16):
        pos.hand[i] = np.int64(0)
    for i in range(2):
        pos.ksq[i] = np.int64(-1)
    pos.ply = np.int64(0)
    # Keys start here: nothing compares them with those of other games.
    pos.key = np.uint64(0)
    pos.board_key = np.uint64(0)


@jit()
def _put(pos: Any, piece: int, sq: int) -> None:
    pos.board[sq] = np.int8(piece)
    toggle_piece(pos, piece, sq)


@jit()
def unpack(pos: Any, address: int) -> bool:
    """Set the position of a PackedSfen. False: the bytes are not one, or pieces are missing."""
    clear(pos)
    pos.side = _bits(address, np.int64(0), np.int64(1))
    at = np.int64(1)
    for colour in range(2):
        king = _bits(address, at, np.int64(7))
        at += 7
        if king >= SQUARES or pos.board[king] != 0:
            return False
        _put(pos, np.int64(colour << 4 | KING), king)
        pos.ksq[colour] = king
    count = np.int64(2)
    for sq in range(SQUARES):
        if pos.board[sq] != 0:
            continue
        entry = _BOARD_CODES[_bits(address, at, np.int64(6))]
        if entry < 0:
            return False
        at += entry >> 8
        kind = entry & 15
        if kind == 0:
            continue
        if kind != GOLD:
            kind |= _bits(address, at, np.int64(1)) * PROMOTED
            at += 1
        _put(pos, (_bits(address, at, np.int64(1)) << 4) | kind, np.int64(sq))
        at += 1
        count += 1
        if at > 256:
            return False
    while at < 256:
        entry = _HAND_CODES[_bits(address, at, np.int64(5))]
        if entry < 0:
            return False
        at += entry >> 8
        kind = entry & 15
        if kind != GOLD:
            if _bits(address, at, np.int64(1)) != 0:
                return False
            at += 1
        pos.hand[_bits(address, at, np.int64(1)) * 8 + kind] += 1
        at += 1
        count += 1
    return at == 256 and count == PIECES


@jit()
def look_ahead(scores: int, count: int, own: float, scale: float, labels: int) -> None:
    """Mix each score of a game with those of the moves that followed.

    As win probabilities, ``v[i] = own * p[i] + (1 - own) * (1 - v[i + 1])``, and the last one is its score alone. This
    is TD(1 - own) of reinforcement learning, without the game's result.

    Args:
        scores: address of int16 [count], from the side to move, which alternates.
        own: share of the position's own score, above 0; 1 changes nothing.
        scale: centipawns per logistic unit.
        labels: address of int16 [count], in centipawns; may be the same as ``scores``.
    """
    later = 0.5
    for k in range(count):
        i = count - 1 - k
        score = ld16(scores + 2 * i)
        if own < 1.0:
            chance = 1.0 / (1.0 + math.exp(-score / scale))
            later = chance if k == 0 else own * chance + (1.0 - own) * (1.0 - later)
            within = min(max(later, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
            mixed = math.floor(scale * math.log(within / (1.0 - within)) + 0.5)
            score = np.int64(min(max(mixed, -_LARGEST_LABEL), _LARGEST_LABEL))
        st16(labels + 2 * i, score)


@jit()
def replay_games(
    pos: Any,
    payload: int,
    size: int,
    tables: int,
    below: Any,
    part: int,
    every: int,
    decided: int,
    own: float,
    scale: float,
    records: int,
    room: int,
    labels: int,
    told: Any,
) -> int:
    """Go through a shard's games and write a record of each position that is kept.

    Args:
        payload: address of the games (`lab.selfplay.shard`), and ``size`` in bytes.
        below: games whose `game_hash` is below it (uint64) are for validation.
        part: `TRAINING` or `VALIDATION`: the games to use.
        every: 1: also keep positions that are not quiet.
        decided: 1: also keep quiet positions with a score of `QUIET_SCORE` and more, including mates.
        own, scale: of `look_ahead`, which gives the scores of the records.
        records: address of [room] of `RECORD_DTYPE`.
        labels: address of int16 [`LONGEST_GAME`], scratch memory.
        told: output, int64 [4]: total games and positions of both parts; then, if it ends early, the index of the game
            and of its move, from 0.

    Returns:
        Number of records; a fault (`CUT` …) is returned negated.
    """
    at = np.int64(0)
    kept: Any = np.int64(0)
    while at < size:
        game = payload + at
        told[2] = told[0]
        told[3] = 0
        if at + GAME_HEAD > size:
            return -CUT
        length = ldu16(game + _LENGTH_AT)
        at += GAME_HEAD + 4 * length
        if at > size or length > LONGEST_GAME:
            return -CUT
        told[0] += 1
        told[1] += length
        if (game_hash(game, length) < below) != (part == VALIDATION):
            continue
        if not unpack(pos, game):
            return -NO_POSITION
        result = ldu8(game + _RESULT_AT)  # a signed byte
        result = result - 256 if result > 127 else result
        look_ahead(game + GAME_HEAD + 2 * length, length, own, scale, labels)
        for i in range(length):
            short = ldu16(game + GAME_HEAD + 2 * i)
            score = ld16(game + GAME_HEAD + 2 * (length + i))
            move = whole_move(pos, short)
            told[3] = i
            if move <= 0 or not check_move(pos, move):
                return -ILLEGAL
            if every != 0 or not (is_loud(pos, move) or (decided == 0 and abs(score) >= QUIET_SCORE)):
                if kept == room:
                    return -TOO_MANY
                record = records + kept * RECORD
                own_result = result if pos.side == 0 else -result
                if not write_record(pos, tables, record, ld16(labels + 2 * i), own_result):
                    return -NO_POSITION
                kept += 1
            make(pos, move)
    return kept


@jit()
def write_rows(
    records: int, order: int, count: int, flip: int, planes: int, blocks: int, active: int, own: int, enemy: int
) -> None:
    """Write the rows of the feature transformer that records activate.

    records: address of an array of `RECORD_DTYPE`, and ``order`` of int64 [count]: the indices of those wanted.
    flip: address of uint16 [1710]: a number of K+P as the other side sees it.
    planes: address of int32 [2][1710]: by number, the row within the own king's block; the second table is for a
        king under which the board is mirrored.
    blocks: address of uint64 [81]: by the own king's square, first row of its block | 1 << 63 if it is mirrored.
    active: rows per position: 38, or 40 if kings are pieces too.
    own: address of int32 [count][active]: as the side to move sees it.
    enemy: the same as the other side sees it.
    """
    for i in range(count):
        record = records + np.int64(ldu64(order + 8 * i)) * RECORD
        king = ldu16(record + 2 * (PIECES - 2)) - PIECE_NUMBERS
        entry = ldu64(blocks + 8 * king)
        block = np.int64(entry & np.uint64(0x7FFFFFFF))
        plane = planes + np.int64(entry >> np.uint64(63)) * _NUMBERS * 4
        for k in range(active):
            st32(own + 4 * k, block + ld32(plane + 4 * ldu16(record + 2 * k)))
        king = ldu16(flip + 2 * ldu16(record + 2 * (PIECES - 1))) - PIECE_NUMBERS
        entry = ldu64(blocks + 8 * king)
        block = np.int64(entry & np.uint64(0x7FFFFFFF))
        plane = planes + np.int64(entry >> np.uint64(63)) * _NUMBERS * 4
        for k in range(active):
            st32(enemy + 4 * k, block + ld32(plane + 4 * ldu16(flip + 2 * ldu16(record + 2 * k))))
        own += 4 * active
        enemy += 4 * active
