"""Constant tables of the rules in one flat buffer; offsets are module constants, its address travels in the Record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from worker.jit import HAS_PEXT
from worker.jit.memory import CACHE_LINE, aligned_zeros
from worker.shogi.pieces import (
    BISHOP,
    BLACK,
    DRAGON,
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
    WHITE,
)

Direction = tuple[int, int]
"""(change of file, change of rank); black moves towards rank 1: (0, -1) is forward for black."""

ORTHOGONAL: tuple[Direction, ...] = ((0, -1), (0, 1), (-1, 0), (1, 0))
DIAGONAL: tuple[Direction, ...] = ((-1, -1), (1, 1), (-1, 1), (1, -1))

_GOLD_STEPS: tuple[Direction, ...] = ((0, -1), (-1, -1), (1, -1), (-1, 0), (1, 0), (0, 1))
STEPS: dict[int, tuple[Direction, ...]] = {
    PAWN: ((0, -1),),
    KNIGHT: ((-1, -2), (1, -2)),
    SILVER: ((0, -1), (-1, -1), (1, -1), (-1, 1), (1, 1)),
    GOLD: _GOLD_STEPS,
    PRO_PAWN: _GOLD_STEPS,
    PRO_LANCE: _GOLD_STEPS,
    PRO_KNIGHT: _GOLD_STEPS,
    PRO_SILVER: _GOLD_STEPS,
    KING: ORTHOGONAL + DIAGONAL,
    HORSE: ORTHOGONAL,
    DRAGON: DIAGONAL,
}
"""The one-step moves by piece type, as black; the sliding part of a piece is in `SLIDES`."""

SLIDES: dict[int, tuple[Direction, ...]] = {
    LANCE: ((0, -1),),
    BISHOP: DIAGONAL,
    HORSE: DIAGONAL,
    ROOK: ORTHOGONAL,
    DRAGON: ORTHOGONAL,
}

LINES: tuple[tuple[Direction, Direction], ...] = (
    ((0, 1), (0, -1)),
    ((1, 0), (-1, 0)),
    ((1, 1), (-1, -1)),
    ((1, -1), (-1, 1)),
)
"""The four lines through a square; the first direction of each is the one of rising square numbers."""

LINE_FILE, LINE_RANK, LINE_DIAGONAL, LINE_ANTIDIAGONAL = range(4)


def bits(squares: Iterable[int]) -> int:
    """A set of squares as an int."""
    value = 0
    for sq in squares:
        value |= 1 << sq
    return value


def for_colour(direction: Direction, colour: int) -> Direction:
    """Black's direction, rotated for ``colour``."""
    return direction if colour == BLACK else (-direction[0], -direction[1])


def step(sq: int, direction: Direction) -> int | None:
    """The square one step away, None beyond the edge."""
    file, rank = sq // 9 + direction[0], sq % 9 + direction[1]
    return file * 9 + rank if 0 <= file < 9 and 0 <= rank < 9 else None


def ray(sq: int, direction: Direction) -> list[int]:
    """All squares from ``sq`` (exclusive) to the edge, nearest first."""
    squares = []
    at = step(sq, direction)
    while at is not None:
        squares.append(at)
        at = step(at, direction)
    return squares


def step_attacks(sq: int, piece_type: int, colour: int) -> int:
    """The squares that the stepping part of a piece attacks."""
    targets = (step(sq, for_colour(direction, colour)) for direction in STEPS.get(piece_type, ()))
    return bits(target for target in targets if target is not None)


def slide(sq: int, directions: Iterable[Direction], occupied: int) -> int:
    """The squares that a slider attacks, the first occupied one of each ray included."""
    value = 0
    for direction in directions:
        for target in ray(sq, direction):
            value |= 1 << target
            if occupied >> target & 1:
                break
    return value


ALL_SQUARES = (1 << SQUARES) - 1
RANKS = tuple(bits(file * 9 + rank for file in range(9)) for rank in range(9))
FILES = tuple(bits(file * 9 + rank for rank in range(9)) for file in range(9))


def promotion_zone(colour: int) -> int:
    """The three ranks of the enemy camp."""
    return RANKS[0] | RANKS[1] | RANKS[2] if colour == BLACK else RANKS[6] | RANKS[7] | RANKS[8]


def may_stand(piece_type: int, colour: int) -> int:
    """The squares on which a piece has a move left: it must not be dropped on the others, and must promote there."""
    far = RANKS if colour == BLACK else RANKS[::-1]
    if piece_type in (PAWN, LANCE):
        return ALL_SQUARES & ~far[0]
    if piece_type == KNIGHT:
        return ALL_SQUARES & ~(far[0] | far[1])
    return ALL_SQUARES


COLOURS = (BLACK, WHITE)
_LOW_WORD = (1 << 64) - 1

_parts: list[tuple[int, np.ndarray[Any, Any]]] = []
_size = 0


def _place(table: np.ndarray[Any, Any]) -> int:
    """Append a table to the buffer and return its offset in bytes."""
    global _size
    offset = _size
    _parts.append((offset, np.ascontiguousarray(table)))
    _size += -(-table.nbytes // CACHE_LINE) * CACHE_LINE
    return offset


def _words(value: int) -> tuple[int, int]:
    return value & _LOW_WORD, value >> 64


def _line_tables() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Slider attacks on one line by PEXT and PDEP.

    The other squares of a line are at most eight, so that the blockers and the attacked squares are one byte each, and
    all lines share a small table. (A table with a bitboard for each line and pattern takes 660 KB of the second cache.)

    Returns:
        ``index`` uint64[81, 4, 4]: mask of the line's other squares (two words), bits in the low word, byte offset into
        ``attacks``; ``attacks`` uint8[9, 256] by number of squares below the slider and occupied squares.
    """
    index = np.zeros((SQUARES, 4, 4), np.uint64)
    attacks = np.zeros((9, 256), np.uint8)
    for sq in range(SQUARES):
        for line, (up, down) in enumerate(LINES):
            below = ray(sq, down)
            mask = _words(bits(ray(sq, up) + below))
            index[sq, line] = (*mask, mask[0].bit_count(), len(below) * 256)
    for own in range(9):
        for pattern in range(256):
            reached = 0
            for way in (range(own - 1, -1, -1), range(own, 8)):
                for bit in way:
                    reached |= 1 << bit
                    if pattern >> bit & 1:
                        break
            attacks[own, pattern] = reached
    return index, attacks


def _ray_tables() -> np.ndarray[Any, Any]:
    """uint64[81, 4, 4]: the two rays of a line (rising, falling), two words each, for sliding by subtraction."""
    rays = np.zeros((SQUARES, 4, 4), np.uint64)
    for sq in range(SQUARES):
        for line, (up, down) in enumerate(LINES):
            rays[sq, line] = (*_words(bits(ray(sq, up))), *_words(bits(ray(sq, down))))
    return rays


if HAS_PEXT:
    _line_index, _line_attacks = _line_tables()
    LINE_INDEX = _place(_line_index)
    LINE_ATTACKS = _place(_line_attacks)
else:
    LINE_RAYS = _place(_ray_tables())


def _step_table() -> np.ndarray[Any, Any]:
    """uint64[2, 16, 81, 2] by colour and piece type. Type 15 is gold (the union of all gold movers)."""
    table = np.zeros((2, 16, SQUARES, 2), np.uint64)
    for colour in COLOURS:
        for piece_type in range(1, 16):
            for sq in range(SQUARES):
                steps = step_attacks(sq, GOLD if piece_type == 15 else piece_type, colour)
                table[colour, piece_type, sq] = _words(steps)
    return table


def _between_tables() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``between`` uint64[81, 81, 2]: the squares strictly between two on one line; ``direction`` int8[81, 81]:
    1..8, 0 if no line joins them. Two squares are in line with a third if their directions from it are equal.
    """
    between = np.zeros((SQUARES, SQUARES, 2), np.uint64)
    direction = np.zeros((SQUARES, SQUARES), np.int8)
    for sq in range(SQUARES):
        for number, way in enumerate(ORTHOGONAL + DIAGONAL, start=1):
            squares = ray(sq, way)
            for i, target in enumerate(squares):
                between[sq, target] = _words(bits(squares[:i]))
                direction[sq, target] = number
    return between, direction


def _by_colour_and_square(function: Any) -> np.ndarray[Any, Any]:
    return np.array([[_words(function(colour, sq)) for sq in range(SQUARES)] for colour in COLOURS], np.uint64)


def _zobrist() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """uint64[32, 81] by piece and square; uint64[2, 8, 20] by colour, type and count in hand (0 for none).

    Bit 0 is left 0: it belongs to the side to move."""
    rng = np.random.default_rng(0x60_0619)
    board = rng.integers(0, 1 << 63, (32, SQUARES), np.uint64) << np.uint64(1)
    hand = rng.integers(0, 1 << 63, (2, 8, 20), np.uint64) << np.uint64(1)
    hand[:, :, 0] = 0
    return board, hand


ZOBRIST_SIDE = np.uint64(1)

STEP = _place(_step_table())
FORWARD = _place(_by_colour_and_square(lambda colour, sq: bits(ray(sq, for_colour(SLIDES[LANCE][0], colour)))))
_between, _direction = _between_tables()
BETWEEN = _place(_between)
DIRECTION = _place(_direction)
FILE_MASK = _place(np.array([_words(FILES[sq // 9]) for sq in range(SQUARES)], np.uint64))
ZONE = _place(np.array([_words(promotion_zone(colour)) for colour in COLOURS], np.uint64))
STAND = _place(np.array([[_words(may_stand(kind, colour)) for kind in range(16)] for colour in COLOURS], np.uint64))
ZOBRIST_BOARD_VALUES, ZOBRIST_HAND_VALUES = _zobrist()
ZOBRIST_BOARD = _place(ZOBRIST_BOARD_VALUES)
ZOBRIST_HAND = _place(ZOBRIST_HAND_VALUES)
ROOK_RAYS, BISHOP_RAYS = (
    _place(np.array([_words(slide(sq, ways, 0)) for sq in range(SQUARES)], np.uint64))
    for ways in (ORTHOGONAL, DIAGONAL)
)
"""The squares that a rook or bishop reaches from each square of an empty board."""
NEAR = _place(
    np.array(
        [
            _words(bits(s for s in range(SQUARES) if abs(s // 9 - sq // 9) <= 2 and abs(s % 9 - sq % 9) <= 3))
            for sq in range(SQUARES)
        ],
        np.uint64,
    )
)
"""The squares from which a piece may reach a square next to this one in one step, including a knight's."""

ALL_LOW, ALL_HIGH = (np.uint64(word) for word in _words(ALL_SQUARES))
RANK_ONE_LOW, RANK_ONE_HIGH = (np.uint64(word) for word in _words(sum(1 << square for square in range(0, 82, 9))))
"""The squares of rank 1, and bit 81: the bits that a shift by one sets for pieces that leave the board at rank 9."""


def _build() -> np.ndarray[Any, Any]:
    buffer = aligned_zeros(_size, np.uint8)
    for offset, table in _parts:
        buffer[offset : offset + table.nbytes] = table.reshape(-1).view(np.uint8)
    return buffer


_BUFFER = _build()
_parts.clear()


def address() -> int:
    """The address of the tables in this process; valid as long as the process lives."""
    return int(_BUFFER.ctypes.data)
