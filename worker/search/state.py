"""The state of one search thread: its Record (`TH_DTYPE`) and the memory that the Record points to.

Arrays by search ply start at index `OFFSET`, so that "two plies ago" needs no test at the root.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numba import from_dtype

from worker.jit import jit
from worker.jit.memory import aligned_zeros, fields_of
from worker.score import MAX_PLY, NO_SCORE
from worker.search.parameters import REDUCTION_LOG
from worker.shogi.state import MAX_MOVES

OFFSET: Final = 8
"""Entries before search ply 0 in the arrays by ply: histories look six plies back."""
_PLIES: Final = MAX_PLY + 2 * OFFSET
PV_ROW: Final = MAX_PLY + 2
MAX_DEPTH: Final = MAX_PLY - 8

CHECK_WORDS: Final = 32
"""Words that a node's check squares take: two by piece type."""
TRIED: Final = 32
"""The most moves of each kind that a node remembers for the histories."""

# Histories: int16 tables in one buffer, by address. A "slot" names a piece on its target square.
SLOTS: Final = 32 * 81
ORIGINS: Final = 192
"""Origins of a move: a square, 81 + type of a drop; in the second half, a square that a piece leaves with promotion."""
PAWN_ROWS: Final = 1024
"""Rows of the history by pawn structure."""
CORRECTION_BITS: Final = 16
CORRECTIONS: Final = 1 << CORRECTION_BITS
"""Entries of a correction by key, for each colour to move."""
CORRECTION_KEYS: Final = 4
_OWN: Final = {
    "butterfly": 2 * ORIGINS * 81,  # [colour][origin][target]
    "capture": SLOTS * 16,  # [slot][captured type]
}
SHARED_SIZES: Final = {
    "pawn": PAWN_ROWS * SLOTS,  # [pawn structure][slot]
    "correction": CORRECTION_KEYS * 2 * CORRECTIONS,  # [kind of key][colour][key]
    "correction_moves": SLOTS * SLOTS,  # [slot of an earlier move][slot]
    "continuation": 4 * SLOTS * SLOTS,  # [in check][captures][slot of an earlier move][slot]
}
"""Values of each table: a thread's own, and those that all threads of a search share."""


def starts(sizes: dict[str, int]) -> dict[str, int]:
    """The index of the first value of each table, in one buffer."""
    return dict(zip(sizes, accumulate((0, *sizes.values())), strict=False))


H_BUTTERFLY: Final = 2 * starts(_OWN)["butterfly"]
H_CAPTURE: Final = 2 * starts(_OWN)["capture"]
H_PAWN: Final = 2 * starts(SHARED_SIZES)["pawn"]
H_CORRECTION: Final = 2 * starts(SHARED_SIZES)["correction"]
H_CORRECTION_MOVES: Final = 2 * starts(SHARED_SIZES)["correction_moves"]
H_CONTINUATION: Final = 2 * starts(SHARED_SIZES)["continuation"]
"""Bytes from ``th.histories`` or ``th.shared`` to each table."""
_BEGIN_WITH: Final = {
    "capture": -678,
    "pawn": -1238,
    "correction_moves": 6,
    "continuation": -523,
}
"""The values of the tables before anything is learned: most moves are bad."""
BUTTERFLY_LIMIT: Final = 7183
CAPTURE_LIMIT: Final = 10_692
CONTINUATION_LIMIT: Final = 30_000
PAWN_LIMIT: Final = 8192
TABLE_MOVE_LIMIT: Final = 8192
CORRECTION_LIMIT: Final = 1024
"""The tables stay within ± these by gravity."""
SHARED_LIMITS: Final = {
    "pawn": PAWN_LIMIT,
    "correction": CORRECTION_LIMIT,
    "correction_moves": CORRECTION_LIMIT,
    "continuation": CONTINUATION_LIMIT,
}

MARK_SHIFT: Final = 8
"""Blocks of 256 bytes: 288 KB of marks, which stay in the cache. Each shared table has whole blocks."""

LOGS: Final = 640
"""Entries of the table of logarithms: no depth or move number is larger."""
NEVER: Final = 1 << 62
"""A node count, time or depth that is never reached."""

TH_DTYPE: Final = np.dtype(
    [
        # Limits and control.
        ("nodes", np.int64),
        ("next_poll", np.int64),  # node count at the next check of flag and clock
        ("node_limit", np.int64),
        ("deadline_ns", np.int64),  # CLOCK_MONOTONIC; 0: none
        ("stop_flag", np.int64),  # address of an int64; read by atomic loads
        ("stopped", np.int64),
        ("pause_at", np.int64),  # node count at which the search pauses for its driver (jit.system.hand_over)
        ("pause_done", np.int64),  # eventfd that is signalled then
        ("pause_go", np.int64),  # eventfd that resumes the search
        # The rules of the game (worker.rules).
        ("every_move", np.int64),  # 1: declined promotions too
        ("entering_rule", np.int64),  # worker.shogi.declaration
        ("draw_value", np.int64, (2,)),  # value of a draw, by the colour to move
        ("draw_ply", np.int64),  # the position's ply from which the game is drawn
        # Transposition table.
        ("tt", np.int64),
        ("tt_clusters", np.uint64),
        ("tt_generation", np.int64),
        ("share_depth", np.int64),  # entries of at least this depth also go to the outbox (worker.search.tt)
        ("outbox", np.int64),
        ("outbox_count", np.int64),  # entries written so far
        # Results.
        ("seldepth", np.int64),
        ("root_count", np.int64),
        ("root_moves", np.int64, (MAX_MOVES,)),
        ("root_scores", np.int64, (MAX_MOVES,)),
        ("root_efforts", np.int64, (MAX_MOVES,)),  # nodes spent on each move in this search
        ("root_averages", np.int64, (MAX_MOVES,)),  # mean score, the last one counting half; NO_SCORE: none yet
        ("root_squares", np.int64, (MAX_MOVES,)),  # mean of score * abs(score), likewise
        ("root_depth", np.int64),  # depth of the iteration
        ("root_left", np.int64),  # the depth at which the rest of the iteration is searched
        ("root_delta", np.int64),  # width of the root's window
        ("root_changes", np.int64),  # number of times that a move other than the first took over in this search
        ("root_table_move", np.int64),  # the move that the iteration began with
        ("root_correction", np.int64),  # correction of the root's evaluation when the iteration began
        ("root_quiets", np.int64),  # moves of the iteration that did not raise alpha, by kind
        ("root_captures", np.int64),
        ("root_eval", np.int64),  # the network's evaluation of the root; NO_SCORE in check
        ("root_next", np.int64),  # index at which the iteration continues; root_count: it is over
        ("root_whole", np.int64),  # 1: the root has all legal moves
        ("root_improved", np.int64),  # 1 if the last root search found a line (its first move or a better one)
        ("pv", np.int64, (PV_ROW * PV_ROW,)),  # triangular: row by ply
        ("pv_length", np.int64, (PV_ROW,)),
        ("last_pv", np.int64, (PV_ROW,)),  # the last iteration's line
        ("last_pv_length", np.int64),
        # By search ply, from index OFFSET on.
        ("static_eval", np.int64, (_PLIES,)),
        ("slot", np.int64, (_PLIES,)),  # of the move made at this ply; 0 for a null move
        ("row", np.int64, (_PLIES,)),  # address of its continuations
        ("correction_row", np.int64, (_PLIES,)),  # address of its corrections
        ("reduction", np.int64, (_PLIES,)),  # plies that its search was reduced by
        ("stat_score", np.int64, (_PLIES,)),  # sum of its histories
        ("move_count", np.int64, (_PLIES,)),  # its number among its siblings
        ("excluded", np.int64, (_PLIES,)),
        ("checked", np.int64, (_PLIES,)),  # 1: in check
        ("checks", np.int64, (_PLIES,)),  # 0: the move made at this ply is known to give no check
        ("table_hit", np.int64, (_PLIES,)),  # 1: the table knew the position
        ("former_pv", np.int64, (_PLIES,)),  # 1: on the current line, or earlier on one according to the table
        ("follows_pv", np.int64, (_PLIES,)),  # 1: every move so far is the last iteration's
        ("cutoffs", np.int64, (_PLIES,)),  # fail-highs among the children
        ("pawn_row", np.int64, (_PLIES,)),  # address of this pawn structure's history
        ("corrections", np.int64, (_PLIES * CORRECTION_KEYS,)),  # addresses of this position's corrections
        ("key_sums", np.uint64, (_PLIES * CORRECTION_KEYS,)),  # the sums from which those are computed
        ("table_move_history", np.int64),  # how often the table's move has been the best
        ("null_floor", np.int64),  # the search ply from which null moves are allowed again (verification)
        ("list_end", np.int64, (_PLIES,)),  # end of this ply's moves in pos.moves
        ("tried", np.int64, (_PLIES * 2 * TRIED,)),  # quiet moves, then captures, searched before a cut-off
        # The move picker, by search ply.
        ("pick_stage", np.int64, (_PLIES,)),
        ("pick_tt", np.int64, (_PLIES,)),
        ("pick_begin", np.int64, (_PLIES,)),
        ("pick_at", np.int64, (_PLIES,)),
        ("pick_bad", np.int64, (_PLIES,)),  # end of the losing captures, which begin at pick_begin
        ("pick_promising", np.int64, (_PLIES,)),  # end of the quiet moves that come by score
        ("pick_quiets", np.int64, (_PLIES,)),  # start of the quiet moves
        ("check_squares", np.uint64, (_PLIES * CHECK_WORDS,)),  # by ply and piece type (worker.search.node)
        ("histories", np.int64),  # addresses: the thread's own, and the shared ones
        ("shared", np.int64),
        ("marks", np.int64),  # marks of the shared ones (Histories.marks_base)
        ("log_table", np.int64, (LOGS,)),  # REDUCTION_LOG / 100 * ln(i)
    ],
    align=True,
)
TH: Final = from_dtype(TH_DTYPE)
"""The numba type."""


class Histories:
    """Tables of histories in one buffer.

    Args:
        sizes: the number of values of each table.
        cleared: fill them now; otherwise `clear` has to come before a search.
    """

    def __init__(self, sizes: dict[str, int], *, cleared: bool = True) -> None:
        self._sizes = sizes
        self.values = aligned_zeros(sum(sizes.values()), np.int16, 1 << MARK_SHIFT)
        self.address = int(self.values.ctypes.data)
        self.marks = aligned_zeros(self.values.nbytes >> MARK_SHIFT, np.uint8)
        """uint8, by block of ``1 << MARK_SHIFT`` bytes: the search sets it to 1 if it learns in the block (in shared
        tables only)."""
        self.marks_base = int(self.marks.ctypes.data) - (self.address >> MARK_SHIFT)
        """The address of a mark is this plus the block's address ``>> MARK_SHIFT``."""
        if cleared:
            self.clear()

    def clear(self) -> None:
        """Forget everything learned in earlier games."""
        for name, start in starts(self._sizes).items():
            self.values[start : start + self._sizes[name]] = _BEGIN_WITH.get(name, 0)


def shared_histories(*, cleared: bool = True) -> Histories:
    """The tables that all threads of a search share. They read and write without a lock: a lost update does no harm.
    ``cleared``: see `Histories`."""
    return Histories(SHARED_SIZES, cleared=cleared)


class ThreadState:
    """One thread's Record and its histories.

    Args:
        shared: the tables that it shares with other threads; None: it has its own.

    Attributes:
        memory: the Record, in an array of one (`TH_DTYPE`).
        record: the same for compiled code (``np.record``).
        fields: the same for Python code (`worker.jit.memory.fields_of`).
    """

    def __init__(self, shared: Histories | None = None) -> None:
        self.memory = aligned_zeros(1, TH_DTYPE)
        self.record: Any = self.memory.view(np.recarray)[0]
        self.fields = fields_of(self.memory)
        self._own = [Histories(_OWN)]
        if shared is None:
            shared = shared_histories()
            self._own.append(shared)
        self._flag = aligned_zeros(1, np.int64)
        self.fields.static_eval[:] = NO_SCORE
        self.fields.histories[0] = self._own[0].address
        self.use_histories(shared)
        self.fields.stop_flag[0] = self._flag.ctypes.data
        self.fields.pause_at[0] = NEVER
        self.fields.share_depth[0] = NEVER
        self.fill_logs(REDUCTION_LOG)

    def fill_logs(self, slope: int) -> None:
        """Fill the table of logarithms.

        Args:
            slope: hundredths of an entry per unit of the logarithm (`REDUCTION_LOG`).
        """
        for i in range(1, LOGS):
            self.fields.log_table[i] = int(slope / 100 * math.log(i))

    def use_histories(self, shared: Histories) -> None:
        """Use these tables, which other threads may use too, from now on."""
        self._shared = shared  # kept alive: the Record has only addresses
        self.fields.shared[0], self.fields.marks[0] = shared.address, shared.marks_base

    def set_stop(self, value: bool) -> None:
        """Raise or lower the flag that the search polls."""
        self._flag[0] = int(value)

    def clear_histories(self) -> None:
        """Forget everything learned in earlier games; shared tables are left to their owner."""
        for tables in self._own:
            tables.clear()
        self.fields.table_move_history[0] = 0


@jit()
def begin_search(th: Any) -> None:
    """Clear everything that depends on the root. The rules and the limits stay as they are."""
    th.nodes = 0
    th.next_poll = 0
    th.stopped = 0
    th.root_changes = 0
    th.last_pv_length = 0
    for i in range(len(th.slot)):
        th.slot[i] = 0
        th.row[i] = th.shared + H_CONTINUATION
        th.correction_row[i] = th.shared + H_CORRECTION_MOVES
        th.reduction[i] = 0
        th.stat_score[i] = 0
        th.move_count[i] = 0
        th.excluded[i] = 0
        th.checked[i] = 0
        th.table_hit[i] = 0
        th.cutoffs[i] = 0
    for i in range(OFFSET):
        th.static_eval[i] = NO_SCORE
