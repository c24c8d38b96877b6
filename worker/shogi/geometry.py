"""Moves of pieces on an empty board: steps, rays and lines, as Python ints of 81 bits. Only builds the tables."""

from __future__ import annotations

from collections.abc import Iterable

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
    """A direction as black's, turned for ``colour``."""
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
    """The squares where a piece has a move left: on the others it must not be dropped and must promote."""
    far = RANKS if colour == BLACK else RANKS[::-1]
    if piece_type in (PAWN, LANCE):
        return ALL_SQUARES & ~far[0]
    if piece_type == KNIGHT:
        return ALL_SQUARES & ~(far[0] | far[1])
    return ALL_SQUARES
