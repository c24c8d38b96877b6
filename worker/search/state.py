"""What one search thread owns: its Record (`TH_DTYPE`) and the memory that the Record points to.

Arrays by search ply start `OFFSET` entries in, so that "two plies ago" needs no test at the root.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import from_dtype

from worker.jit.memory import aligned_zeros
from worker.score import MAX_PLY, NO_SCORE
from worker.shogi.state import MAX_MOVES

OFFSET: Final = 4
"""Entries before search ply 0 in the arrays by ply."""
_PLIES: Final = MAX_PLY + 2 * OFFSET
PV_ROW: Final = MAX_PLY + 2

TRIED: Final = 32
"""Moves of a kind that a node remembers for the histories."""

# Histories: int16 tables in one buffer, by address. A "slot" names a piece on its target square.
SLOTS: Final = 32 * 81
H_BUTTERFLY: Final = 0  # [colour 2][origin 96: square, or 81 + type of a drop][target 81]
H_CAPTURE: Final = H_BUTTERFLY + 2 * 96 * 81 * 2  # [slot][captured type 16]
H_CONTINUATION: Final = H_CAPTURE + SLOTS * 16 * 2  # [slot of an earlier move][slot]
H_CORRECTION: Final = H_CONTINUATION + SLOTS * SLOTS * 2  # [kind of key 4][colour 2][key: CORRECTIONS]
CORRECTION_BITS: Final = 14
CORRECTIONS: Final = 1 << CORRECTION_BITS
HISTORY_BYTES: Final = H_CORRECTION + 4 * 2 * CORRECTIONS * 2
HISTORY_LIMIT: Final = 16384
"""Histories stay within ± this by gravity."""
CORRECTION_LIMIT: Final = 1024
"""The same for the corrections of the evaluation."""

LOG_SCALE: Final = 1024
NEVER: Final = 1 << 62
"""A node count, time or depth that is never reached."""

TH_DTYPE: Final = np.dtype(
    [
        # Limits and control.
        ("nodes", np.int64),
        ("next_poll", np.int64),  # node count of the next look at flag and clock
        ("node_limit", np.int64),
        ("deadline_ns", np.int64),  # CLOCK_MONOTONIC; 0: none
        ("stop_flag", np.int64),  # address of an int64; read by atomic loads
        ("stopped", np.int64),
        ("pause_at", np.int64),  # node count at which the search waits for its driver (worker.search.steps)
        ("pause_done", np.int64),  # eventfd that is raised then
        ("pause_go", np.int64),  # eventfd that lets it go on
        # The rules of the game (worker.search.rules).
        ("every_move", np.int64),  # 1: declined promotions too
        ("entering_rule", np.int64),  # worker.shogi.declaration
        ("draw_value", np.int64, (2,)),  # of a draw, by the colour to move
        ("draw_ply", np.int64),  # the position's ply from which on the game is drawn
        # Transposition table.
        ("tt", np.int64),
        ("tt_clusters", np.uint64),
        ("tt_generation", np.int64),
        ("share_depth", np.int64),  # entries of this depth and more go to the outbox too (worker.search.outbox)
        ("outbox", np.int64),
        ("outbox_count", np.int64),  # entries written so far
        # Results.
        ("seldepth", np.int64),
        ("root_count", np.int64),
        ("root_moves", np.int64, (MAX_MOVES,)),
        ("root_scores", np.int64, (MAX_MOVES,)),
        ("root_depth", np.int64),
        ("root_next", np.int64),  # where the iteration goes on; root_count: it is over
        ("root_improved", np.int64),  # 1 where the last root search found a line (its first move or a better one)
        ("pv", np.int64, (PV_ROW * PV_ROW,)),  # triangular: row by ply
        ("pv_length", np.int64, (PV_ROW,)),
        # By search ply, OFFSET entries in.
        ("static_eval", np.int64, (_PLIES,)),
        ("slot", np.int64, (_PLIES,)),  # of the move made at this ply; 0 for a null move
        ("killers", np.int64, (_PLIES * 2,)),
        ("excluded", np.int64, (_PLIES,)),
        ("cutoffs", np.int64, (_PLIES,)),  # fail-highs among the children
        ("null_floor", np.int64),  # the search ply from which null moves are allowed again (verification)
        ("list_end", np.int64, (_PLIES,)),  # end of this ply's moves in pos.moves
        ("tried", np.int64, (_PLIES * 2 * TRIED,)),  # quiet moves, then captures, searched before a cut-off
        # The move picker, by search ply.
        ("pick_stage", np.int64, (_PLIES,)),
        ("pick_tt", np.int64, (_PLIES,)),
        ("pick_begin", np.int64, (_PLIES,)),
        ("pick_at", np.int64, (_PLIES,)),
        ("pick_bad", np.int64, (_PLIES,)),  # end of the losing captures, which begin at pick_begin
        ("check_squares", np.uint64, (32,)),  # two words by piece type, for the list that is being scored
        ("histories", np.int64),
        ("log_table", np.int64, (64,)),  # LOG_SCALE * ln(i)
    ],
    align=True,
)
TH: Final = from_dtype(TH_DTYPE)
"""The numba type."""


class ThreadState:
    """One thread's Record and the histories behind it."""

    def __init__(self) -> None:
        self.record: Any = aligned_zeros(1, TH_DTYPE).view(np.recarray)[0]
        self._histories = aligned_zeros(HISTORY_BYTES // 2, np.int16)
        self._flag = aligned_zeros(1, np.int64)
        self.record.static_eval[:] = NO_SCORE
        self.record.histories = self._histories.ctypes.data
        self.record.stop_flag = self._flag.ctypes.data
        self.record.pause_at = NEVER
        self.record.share_depth = NEVER
        for i in range(1, 64):
            self.record.log_table[i] = int(LOG_SCALE * math.log(i))

    def set_stop(self, value: bool) -> None:
        """Raise or lower the flag that the search polls."""
        self._flag[0] = int(value)

    def clear_histories(self) -> None:
        """Forget what ordering learned."""
        self._histories[:] = 0
