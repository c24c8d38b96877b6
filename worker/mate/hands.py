"""A hand as one integer, so that "has at least" is one subtraction.

Seven fields, one by kind of piece, each below a guard bit that stays 0. `covers` borrows into the guard where a field
is too small. ``GUARDS`` marks the guard bits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.shogi.pieces import BISHOP, GOLD, KNIGHT, LANCE, PAWN, ROOK, SILVER

_WIDTHS: Final = {PAWN: 5, LANCE: 3, KNIGHT: 3, SILVER: 3, BISHOP: 2, ROOK: 2, GOLD: 3}


def _layout() -> tuple[list[int], list[int], int]:
    shifts, masks, guards, at = [0] * 8, [0] * 8, 0, 0
    for kind, width in _WIDTHS.items():
        shifts[kind] = at
        masks[kind] = (1 << width) - 1
        guards |= 1 << (at + width)
        at += width + 1
    return shifts, masks, guards


_shifts, _masks, GUARDS = _layout()
_SHIFT: Final = np.array(_shifts, np.int64)
_MASK: Final = np.array(_masks, np.int64)


@jit()
def covers(hand: int, other: int) -> bool:
    """Whether ``hand`` holds at least what ``other`` holds, of every kind."""
    return ((hand | GUARDS) - other) & GUARDS == GUARDS


@jit()
def held(hand: int, kind: int) -> Any:
    """The number of pieces of a kind in a hand."""
    return (hand >> _SHIFT[kind]) & _MASK[kind]


@jit()
def one_of(kind: int) -> Any:
    """The hand of one piece."""
    return np.int64(1) << _SHIFT[kind]


@jit()
def kind_field(kind: int) -> Any:
    """The bits of a kind's field."""
    return _MASK[kind] << _SHIFT[kind]


@jit()
def most(a: int, b: int) -> Any:
    """By kind the larger number."""
    result = np.int64(0)
    for kind in range(PAWN, GOLD + 1):
        field = kind_field(kind)
        result |= max(a & field, b & field)
    return result


@jit()
def fewest(a: int, b: int) -> Any:
    """By kind the smaller number."""
    result = np.int64(0)
    for kind in range(PAWN, GOLD + 1):
        field = kind_field(kind)
        result |= min(a & field, b & field)
    return result


@jit()
def hand_of(pos: Any, colour: int) -> Any:
    """The hand of a colour in a position."""
    result = np.int64(0)
    for kind in range(PAWN, GOLD + 1):
        result |= pos.hand[colour * 8 + kind] << _SHIFT[kind]
    return result
