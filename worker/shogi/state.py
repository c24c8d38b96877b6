"""The position as one structured Record, which every compiled function of the rules gets by pointer.

One Record per thread. ``ply`` counts moves since the position that was set and indexes the ``st_*`` stacks, the game's
history included, so repetition needs no second structure. `worker.shogi.position.Position` is its interface.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import from_dtype

from worker.jit.memory import aligned_empty
from worker.score import MAX_PLY
from worker.shogi import tables

MAX_HISTORY: Final = 1024
"""Moves of a game that a position keeps; of a longer game the oldest are dropped."""
STACK: Final = MAX_HISTORY + MAX_PLY + 8
MAX_MOVES: Final = 600
"""No position has more legal moves (the most known is 593); pseudo-legal lists stay below it too."""
MOVE_BUFFER: Final = (MAX_PLY + 8) * MAX_MOVES
GOLDS: Final = 15
"""The bitboard of all gold movers of a colour: ``bb`` of piece ``colour << 4 | GOLDS``."""

POS_DTYPE: Final = np.dtype(
    [
        ("board", np.int8, (96,)),  # piece by square, 81 used
        ("bb", np.uint64, (64,)),  # two words by piece; colour << 4: all of that colour; | GOLDS: gold movers
        ("hand", np.int64, (16,)),  # colour * 8 + type
        ("ksq", np.int64, (2,)),  # king squares; -1: none (tsume positions)
        ("side", np.int64),  # to move
        ("ply", np.int64),
        ("key", np.uint64),  # zobrist key: board, hands, side
        ("board_key", np.uint64),  # the same without the hands
        ("tables", np.int64),  # address of worker.shogi.tables
        # Stacks by ply. The move at i leads from i to i + 1; a null move is 0.
        ("st_key", np.uint64, (STACK,)),
        ("st_board", np.uint64, (STACK,)),  # board_key
        ("st_move", np.int64, (STACK,)),
        ("st_captured", np.int64, (STACK,)),  # captured piece, 0: none
        ("st_hand", np.int64, (STACK,)),  # 0-based index of the hand piece that the move added or removed
        ("st_run", np.int64, (STACK * 2,)),  # by ply and colour: length, in plies, of that colour's run of checks
        ("st_checkers", np.uint64, (STACK * 2,)),  # two words: pieces that check the side to move
        ("st_pinned", np.uint64, (STACK * 2,)),  # two words: pieces of the side to move that are pinned
        # The last field (`new_memory`): a stack of move lists, each node appends after its parent's.
        ("moves", np.int64, (MOVE_BUFFER,)),
    ],
    align=True,
)
POS = from_dtype(POS_DTYPE)
"""The numba type, for explicit signatures."""


_LISTS_BYTES: Final = 8 * MOVE_BUFFER


def new_memory() -> np.ndarray[Any, Any]:
    """An array of one empty position Record (`POS_DTYPE`, 64-byte aligned).

    The move lists, at its end and most of its 1.3 MB, are uninitialized.
    """
    memory = aligned_empty(1, POS_DTYPE)
    memory.view(np.uint8)[:-_LISTS_BYTES] = 0
    memory["tables"] = tables.address()
    memory["ksq"] = -1
    return memory


def new_record() -> Any:
    """An empty position Record (a ``np.record``) for compiled code."""
    return new_memory().view(np.recarray)[0]
