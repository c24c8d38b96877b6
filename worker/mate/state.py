"""The state of one mate search: its Record (`MS_DTYPE`). Its tables are outside, referenced by address."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import from_dtype

from worker.jit import jit
from worker.jit.memory import aligned_zeros
from worker.shogi.pieces import BISHOP, GOLD, KNIGHT, LANCE, PAWN, ROOK, SILVER
from worker.shogi.state import STACK

INFINITE: Final = 1 << 30
"""The proof or disproof number of a position that cannot be proven or disproven any more. Sums stay below it."""

MAX_DEPTH: Final = STACK - 8
"""The longest line from the root, in plies; nothing is known beyond it."""
CHILDREN: Final = 1 << 17
"""Room for the children of all nodes on the path."""
MOST_CHILDREN: Final = 700
"""An upper limit for the children of a node."""

# Basis of a disproof: the shallowest depth on the path whose repetition it used, or one of these.
ABSOLUTE: Final = 1 << 20
"""The disproof used no repetition: it holds on any path."""
BY_HISTORY: Final = -1
"""The disproof used a position that occurred three times in the game before the root."""
BY_LIMIT: Final = -2
"""The disproof used `MAX_DEPTH`: it is valid in this search only."""

HISTORY: Final = MAX_DEPTH + 1
"""Index on the path of the first position that history forbids."""
MOST_FORBIDDEN: Final = 256
PATH_SLOTS: Final = 1 << 13
_PATH: Final = HISTORY + MOST_FORBIDDEN

MS_DTYPE: Final = np.dtype(
    [
        # Limits and control.
        ("nodes", np.int64),
        ("node_limit", np.int64),
        ("next_poll", np.int64),
        ("deadline_ns", np.int64),  # CLOCK_MONOTONIC; 0: none
        ("stop_flag", np.int64),  # address of an int64; read by atomic loads
        ("stopped", np.int64),
        ("attacker", np.int64),  # the colour that mates
        # Tables.
        ("table", np.int64),  # address
        ("slots", np.uint64),
        ("used", np.int64),
        ("most_used", np.int64),
        ("loops", np.int64),  # address of the table of path-dependent disproofs
        ("loop_slots", np.uint64),
        ("histogram", np.int64, (64,)),
        # The path: the position at depth d at index d; from HISTORY on, the positions that the game's history forbids.
        ("path_board", np.uint64, (_PATH,)),
        ("path_hand", np.int64, (_PATH,)),
        ("path_key", np.uint64, (_PATH,)),
        ("path_slot", np.int64, (_PATH,)),
        ("path_table", np.int64, (PATH_SLOTS,)),  # index + 1 by board key, open addressing
        # The result of the last node.
        ("r_phi", np.int64),
        ("r_delta", np.int64),
        ("r_hand", np.int64),
        ("r_length", np.int64),
        ("r_rests", np.int64),
        # The last evaluated node.
        ("best", np.int64),
        ("phi", np.int64),
        ("second", np.int64),
        ("delta", np.int64),
        ("rest", np.int64),  # the part of delta that does not come from the best child
        ("latest_drop", np.int64, (96,)),  # by square, while a node is expanded
        # Children of the nodes on the path, a stack. phi and delta from the parent's view: phi is the effort that the
        # parent's side needs to reach its goal with this move.
        ("c_move", np.int64, (CHILDREN,)),
        ("c_board", np.uint64, (CHILDREN,)),
        ("c_hand", np.int64, (CHILDREN,)),  # the attacker's hand; for a solved child its proof or disproof hand
        ("c_phi", np.int64, (CHILDREN,)),
        ("c_delta", np.int64, (CHILDREN,)),
        ("c_length", np.int64, (CHILDREN,)),  # plies to mate for a proven child
        ("c_rests", np.int64, (CHILDREN,)),
        ("c_next", np.int64, (CHILDREN,)),  # the child that waits until this one is lost; -1: none
        ("c_waits", np.int64, (CHILDREN,)),  # 1: not counted yet
    ],
    align=True,
)
MS: Final = from_dtype(MS_DTYPE)
"""The numba type."""


def new_record() -> Any:
    """An empty Record."""
    return aligned_zeros(1, MS_DTYPE).view(np.recarray)[0]


# A hand as one integer, so that "has at least" is one subtraction: seven fields, one by kind of piece, each below a
# guard bit that stays 0. `covers` borrows into the guard if a field is too small. `GUARDS` marks the guard bits.
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
    """Whether ``hand`` has at least as many pieces of every kind as ``other``."""
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
    """The larger number for each kind."""
    result = np.int64(0)
    for kind in range(PAWN, GOLD + 1):
        field = kind_field(kind)
        result |= max(a & field, b & field)
    return result


@jit()
def fewest(a: int, b: int) -> Any:
    """The smaller number for each kind."""
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
