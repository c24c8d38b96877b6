"""Books in the two usual binary formats: YaneuraOu's ``.ybb``, and Apery's ``book.bin``.

``.ybb``, little endian: the magic, u64 positions, u64 flags (1: moves have a depth); then for each position, in the
byte order of the first field, its PackedSfen (32 bytes), u64 offset of its moves after this index, u16 ply, u16 number
of moves; then the moves: u16 move, i16 value, and u16 depth if the flag is set.

``book.bin``: u64 key, u16 move, u16 count, i32 score. The key is the xor of random numbers for the pieces on the board,
the mover's hand and white's turn; they are the first numbers of the 64-bit Mersenne Twister with its default seed
(Nishimura and Matsumoto 2000).

Sources: YaneuraOu's ``source/book/book.cpp``, ``source/book/apery_book.cpp`` and ``source/extra/sfen_packer.cpp``.
"""

from __future__ import annotations

import mmap
import os
import struct
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from worker.book.format import BookError, BookMove, ranked, split_sfen
from worker.files import reason
from worker.shogi.notation import square_to_usi
from worker.shogi.pieces import GOLD, KING, PAWN, PROMOTED, SFEN_LETTERS, SQUARES
from worker.shogi.sfen import Setup, SfenError, parse

YBB_MAGIC: Final = b"YANE-BINBOOK-V1\0"
_YBB_HEAD: Final = struct.Struct("<16sQQ")
_YBB_ENTRY: Final = struct.Struct("<32sQHH")
_WITH_DEPTH: Final = 1
_SAMPLES: Final = 256

_APERY: Final = np.dtype([("key", "<u8"), ("move", "<u2"), ("count", "<u2"), ("score", "<i4")])
_APERY_DEPTH: Final = 256
"""Apery's books have no depth; YaneuraOu uses this one, so that they pass every limit."""
_APERY_PIECES: Final = 31
_APERY_HANDS: Final = 7
_APERY_HAND: Final = (0, 0, 1, 2, 3, 5, 6, 4)
"""By piece type, Apery's number in hand: gold comes before bishop and rook."""
_MOST_IN_HAND: Final = 19

# PackedSfen, lowest bit first: by unpromoted type (0: an empty square) its code and the code's bits.
_CODES: Final = ((0, 1), (0b1, 2), (0b11, 4), (0b1011, 4), (0b111, 4), (0b11111, 6), (0b111111, 6), (0b1111, 5))
_PACKED_BITS: Final = 256


class YbbBook:
    """A book in YaneuraOu's binary format.

    Args:
        on_the_fly: leave it on the disk, mapped into memory.

    Raises:
        BookError: the file cannot be read, is cut off, or is not sorted (of a large one, at 256 places).
    """

    def __init__(self, path: Path, on_the_fly: bool = False) -> None:
        self._name = str(path)
        try:
            with path.open("rb") as file:
                self._data: bytes | mmap.mmap = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if on_the_fly else file.read()
                )
        except (OSError, ValueError, MemoryError) as error:
            raise BookError(f"book {self._name}: {reason(error)}") from error
        if len(self._data) < _YBB_HEAD.size:
            raise self._error(len(self._data), "it ends inside its header")
        magic, self._count, flags = _YBB_HEAD.unpack_from(self._data)
        if magic != YBB_MAGIC or flags & ~_WITH_DEPTH:
            raise self._error(0, f"not a book of this version (flags {flags})")
        self._move = struct.Struct("<HhH" if flags & _WITH_DEPTH else "<Hh")
        self._moves_at = _YBB_HEAD.size + self._count * _YBB_ENTRY.size
        if self._moves_at > len(self._data):
            raise self._error(len(self._data), f"it ends inside the index of its {self._count:,} positions")
        before = b""
        for sample in range(min(_SAMPLES, self._count)):
            number = self._count * sample // min(_SAMPLES, self._count)
            packed = self._entry(number)[0]
            if packed <= before:
                raise self._error(_YBB_HEAD.size + number * _YBB_ENTRY.size, "positions are not sorted")
            before = packed

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """See `worker.book.file.Book.find`."""
        key, ply = split_sfen(sfen)
        wanted = packed_sfen(_setup(key))
        low, high = 0, self._count if wanted else 0
        while low < high:
            middle = (low + high) // 2
            packed, offset, its_ply, count = self._entry(middle)
            if packed == wanted:
                return ranked(self._moves(offset, count)) if any_ply or its_ply == ply else []
            low, high = (middle + 1, high) if packed < wanted else (low, middle)
        return []

    def _entry(self, number: int) -> tuple[bytes, int, int, int]:
        packed, offset, ply, count = _YBB_ENTRY.unpack_from(self._data, _YBB_HEAD.size + number * _YBB_ENTRY.size)
        return packed, offset, ply, count

    def _moves(self, offset: int, count: int) -> list[BookMove]:
        at = self._moves_at + offset
        if at + count * self._move.size > len(self._data):
            raise self._error(at, "it ends inside a position's moves")
        found = []
        for number in range(count):
            move, value, *depth = self._move.unpack_from(self._data, at + number * self._move.size)
            usi = _move_text(move & 127, move >> 7 & 127, promotes=move >> 15 & 1, drops=move >> 14 & 1)
            if usi:
                found.append(BookMove(usi, None, value, depth[0] if depth else 0, 0))
        return found

    def _error(self, at: int, what: str) -> BookError:
        return BookError(f"book {self._name}: byte {at}: {what}")


class AperyBook:
    """A book of Apery, read into memory; its positions may be in any order.

    Raises:
        BookError: the file cannot be read, or is not such a book.
    """

    def __init__(self, path: Path) -> None:
        try:
            size = os.path.getsize(path)
            if not size or size % _APERY.itemsize:
                raise BookError(f"book {path}: {size:,} bytes: a book.bin has {_APERY.itemsize} for each move")
            entries = np.fromfile(path, _APERY)
        except (OSError, MemoryError) as error:
            raise BookError(f"book {path}: {reason(error)}") from error
        wrong = (entries["move"] & 127 >= SQUARES) | (entries["move"] >> 7 & 127 >= SQUARES + GOLD)
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0]) * _APERY.itemsize
            raise BookError(f"book {path}: byte {place}: no move; is it a book.bin?")
        self._entries = entries[np.argsort(entries["key"], kind="stable")]

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """See `worker.book.file.Book.find`; the book has no plies, so ``any_ply`` changes nothing."""
        key = np.uint64(apery_key(_setup(split_sfen(sfen)[0])))
        first, last = (int(np.searchsorted(self._entries["key"], key, side)) for side in ("left", "right"))
        found = []
        for entry in self._entries[first:last]:
            move, origin = int(entry["move"]), int(entry["move"]) >> 7 & 127
            drops = origin >= SQUARES
            usi = _move_text(
                move & 127, origin - SQUARES + 1 if drops else origin, promotes=move >> 14 & 1, drops=int(drops)
            )
            if usi:
                found.append(BookMove(usi, None, int(entry["score"]), _APERY_DEPTH, int(entry["count"])))
        return ranked(found)


def _move_text(target: int, origin: int, *, promotes: int, drops: int) -> str:
    """A move in USI; empty: not a move. ``origin``: for a drop, the piece type."""
    if target >= SQUARES or (drops and not PAWN <= origin <= GOLD) or (not drops and origin >= SQUARES):
        return ""
    if drops:
        return f"{SFEN_LETTERS[origin]}*{square_to_usi(target)}"
    return f"{square_to_usi(origin)}{square_to_usi(target)}{'+' if promotes else ''}"


def _setup(key: str) -> Setup:
    try:
        return parse(key)
    except SfenError as error:
        raise BookError(f"a position is looked up that is none: {error}") from error


def packed_sfen(setup: Setup) -> bytes:
    """The 32 bytes of a position (PackedSfen); empty: it lacks pieces, and a ``.ybb`` cannot contain it."""
    value, at = setup.turn, 1

    def put(number: int, bits: int) -> None:
        nonlocal value, at
        value |= number << at
        at += bits

    for colour in range(2):
        king = colour << 4 | KING
        if king not in setup.board:
            return b""
        put(setup.board.index(king), 7)
    for piece in setup.board:
        kind = piece & 15
        if kind == KING:
            continue
        put(*_CODES[kind & 7])
        if piece:
            if kind != GOLD:
                put(kind // PROMOTED, 1)
            put(piece >> 4, 1)
    for colour in range(2):
        for kind in range(PAWN, GOLD + 1):
            code, bits = _CODES[kind]
            for _ in range(setup.hands[colour][kind]):
                put(code >> 1, bits - 1)
                if kind != GOLD:
                    put(0, 1)
                put(colour, 1)
    return value.to_bytes(_PACKED_BITS // 8, "little") if at == _PACKED_BITS else b""


def apery_key(setup: Setup) -> int:
    """The key of a position in a ``book.bin``."""
    board, hands, turn = _apery_numbers()
    key = turn if setup.turn else 0
    for sq, piece in enumerate(setup.board):
        if piece:
            key ^= board[piece * SQUARES + sq]
    for kind in range(PAWN, GOLD + 1):
        key ^= hands[_APERY_HAND[kind] * _MOST_IN_HAND + setup.hands[setup.turn][kind]]
    return key


@cache
def _apery_numbers() -> tuple[list[int], list[int], int]:
    """Random numbers by piece and square, by piece in hand and count, and for white's turn."""
    numbers = mersenne64(_APERY_PIECES * SQUARES + _APERY_HANDS * _MOST_IN_HAND + 1)
    board = _APERY_PIECES * SQUARES
    return numbers[:board], numbers[board:-1], numbers[-1]


def mersenne64(count: int, seed: int = 5489) -> list[int]:
    """The first numbers of the 64-bit Mersenne Twister (MT19937-64), the same as from C++'s ``std::mt19937_64``."""
    mask, size, middle = (1 << 64) - 1, 312, 156
    state = [seed]
    for number in range(1, size):
        state.append((6364136223846793005 * (state[-1] ^ state[-1] >> 62) + number) & mask)
    found: list[int] = []
    while len(found) < count:
        for i in range(size):
            joined = (state[i] & ~0x7FFFFFFF) | (state[(i + 1) % size] & 0x7FFFFFFF)
            state[i] = state[(i + middle) % size] ^ joined >> 1 ^ (0xB5026F5AA96619E9 if joined & 1 else 0)
        for word in state:
            word ^= word >> 29 & 0x5555555555555555
            word ^= word << 17 & 0x71D67FFFEDA60000
            word ^= word << 37 & 0xFFF7EEE000000000
            found.append((word ^ word >> 43) & mask)
    return found[:count]
