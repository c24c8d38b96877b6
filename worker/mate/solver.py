"""MateSolver: the interface of the mate search."""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from worker.jit.memory import aligned_zeros
from worker.mate.dfpn import MATED, UNDECIDED, line_back, line_step, search
from worker.mate.expansion import evaluate, expand, path_push
from worker.mate.state import BY_LIMIT, HISTORY, INFINITE, MOST_FORBIDDEN, hand_of, new_record
from worker.mate.table import ENTRY, LOOP_ENTRY
from worker.shogi import Position

_NO_LIMIT: Final = 1 << 62
_OCCURRENCES_BEFORE_A_DRAW: Final = 3
_WALKS: Final = 20
_ROOT_PATH: Final = np.uint64(0x60_0619_60_0619)


class MateStatus(enum.Enum):
    """The outcome of a mate search."""

    MATE = "mate"
    """The side to move mates by checks only, against any defence."""
    NO_MATE = "nomate"
    """The side to move has no such mate."""
    UNKNOWN = "unknown"
    """Stopped by a limit before either was proven, or before the line of the mate was found again in a full table."""


@dataclass(frozen=True, slots=True)
class MateResult:
    """The result of a mate search."""

    status: MateStatus
    line: tuple[int, ...]
    """Moves (`worker.shogi.pieces`) from the root to the mate, one line of the proof: not always the shortest mate nor
    the longest defence. Empty without a mate."""
    nodes: int
    time_ms: int
    longest: int = 0
    """The most plies that the mate takes, against any defence; 0 without a mate."""


class MateSolver:
    """Looks for a mate by checks from the side to move (which needs no king), with bounded memory.

    Equal calls give equal results unless a deadline or `stop` interrupts them. Use it from one thread at a time; `stop`
    may come from any. Compiled code releases the GIL.

    Args:
        memory_mb: size of the tables in MB, 1 or more.
        keep: allocate and touch the memory now and keep it, for many short searches. Otherwise each `solve` allocates
            it as needed and frees it.
    """

    def __init__(self, memory_mb: int = 64, *, keep: bool = False) -> None:
        if memory_mb < 1:
            raise ValueError(f"memory of {memory_mb} MB for the mate search: expected 1 or more")
        self.memory_mb = memory_mb
        self._state: Any = new_record()
        self._flag = aligned_zeros(1, np.int64)
        self._keep = keep
        self._tables: tuple[Any, Any] | None = None
        self._is_clear = False
        if keep:
            self._tables = self._new_tables()
            self._clear()

    def stop(self) -> None:
        """End the running `solve` within a millisecond or so, and any later one until `prepare`."""
        self._flag[0] = 1

    def prepare(self) -> None:
        """Forget an earlier `stop`. Called by the thread that drives the solver, before another thread runs `solve`."""
        self._flag[0] = 0

    def solve(self, position: Position, *, max_nodes: int | None = None, deadline_ns: int | None = None) -> MateResult:
        """Search until the answer, a limit or `stop`.

        Args:
            position: unchanged afterwards. Of its history only positions that have occurred three times matter: the
                attacker, who gives perpetual check, must not repeat them.
            max_nodes: the most node visits.
            deadline_ns: by the clock of ``time.monotonic_ns()``.
        """
        began = time.monotonic_ns()
        root = Position.from_sfen(position.sfen())
        state = self._state
        state.nodes = 0
        state.next_poll = 0
        state.node_limit = _NO_LIMIT if max_nodes is None else max_nodes
        state.deadline_ns = 0 if deadline_ns is None else deadline_ns
        state.stop_flag = self._flag.ctypes.data
        state.stopped = 0
        state.attacker = root.turn
        try:
            status, line, longest = self._run(root, position)
        finally:
            if not self._keep:
                self._tables = None
        return MateResult(status, line, int(state.nodes), (time.monotonic_ns() - began) // 1_000_000, longest)

    def _run(self, root: Position, position: Position) -> tuple[MateStatus, tuple[int, ...], int]:
        state = self._state
        if int(root.record.ksq[1 - root.turn]) < 0:
            return MateStatus.NO_MATE, (), 0
        self._begin(root, _forbidden(position))
        if int(expand(root.record, state, 0, 0)) == 0:
            return MateStatus.NO_MATE, (), 0  # no move checks; clearing 16 MB takes a millisecond and flushes caches
        self._clear()
        self._is_clear = False
        search(root.record, state, 0, 0, INFINITE, INFINITE)
        if state.r_delta == 0:
            return (MateStatus.UNKNOWN if state.r_rests == BY_LIMIT else MateStatus.NO_MATE), (), 0
        longest = int(state.r_length)
        line = self._line(root) if state.r_phi == 0 else None
        if line is None:
            return MateStatus.UNKNOWN, (), 0
        # A part lost from a full table may have been found again with a greater length.
        return MateStatus.MATE, line, max(longest, len(line))

    def _new_tables(self) -> tuple[Any, Any]:
        """Zeroed tables of entries and of loops, of which only touched pages cost memory."""
        size = self.memory_mb << 20
        slots, loop_slots = (size - size // 16) // ENTRY, size // 16 // LOOP_ENTRY
        return aligned_zeros(slots * ENTRY // 8, np.uint64), aligned_zeros(loop_slots * LOOP_ENTRY // 8, np.uint64)

    def _clear(self) -> None:
        if not self._is_clear:
            for table in self._tables or ():
                table[:] = 0
        self._is_clear = True

    def _begin(self, root: Position, forbidden: list[tuple[int, int]]) -> None:
        """Set up the tables, and a path with the root."""
        state = self._state
        if self._tables is None:
            self._tables = self._new_tables()
            self._is_clear = True
        entries, loops = self._tables
        slots = entries.nbytes // ENTRY
        state.table, state.slots = entries.ctypes.data, slots
        state.loops, state.loop_slots = loops.ctypes.data, loops.nbytes // LOOP_ENTRY
        state.used, state.most_used = 0, slots * 3 // 4
        state.path_table[:] = 0
        for i, (board, hand) in enumerate(forbidden):
            path_push(state, HISTORY + i, np.uint64(board), hand, np.uint64(0))
        path_push(state, 0, np.uint64(root.record.board_key), hand_of(root.record, root.turn), _ROOT_PATH)

    def _line(self, root: Position) -> tuple[int, ...] | None:
        """A line of the proof; ``root`` is unchanged. None if too much of it is lost.

        It is walked repeatedly, with better lengths each time, until the table's longest defence has the length in the
        table.
        """
        record, state = root.record, self._state
        best: tuple[int, ...] | None = None
        for _ in range(_WALKS):
            line: list[int] = []
            while (move := self._step(record, len(line))) > 0:
                line.append(move)
            for depth in reversed(range(len(line))):
                line_back(record, state, depth)
            if move != MATED:
                break
            if best is None or len(line) > len(best):
                best = tuple(line)
            if state.r_length == len(line):
                return tuple(line)
            if self._flag[0]:
                break
        return best

    def _step(self, record: Any, depth: int) -> int:
        """One move of the line; lost entries are searched again."""
        state = self._state
        for again in (True, False):
            end = int(expand(record, state, depth, 0))
            evaluate(state, 0, end, record.side == state.attacker)
            move = int(line_step(record, state, depth, end))
            if move != UNDECIDED or state.stopped:
                break
            if again:
                search(record, state, depth, 0, INFINITE, INFINITE)
        return move


def _forbidden(position: Position) -> list[tuple[int, int]]:
    """Board key and attacker's hand of the positions that occurred three times in the game."""
    keys = position.record.st_key[: int(position.record.ply) + 1]
    values, counts = np.unique(keys, return_counts=True)
    often = set(values[counts >= _OCCURRENCES_BEFORE_A_DRAW].tolist())
    if not often:
        return []
    past = position.copy()
    found: dict[int, tuple[int, int]] = {}
    while True:
        if past.key in often:
            found.setdefault(past.key, (int(past.record.board_key), int(hand_of(past.record, position.turn))))
        if not past.history:
            return list(found.values())[:MOST_FORBIDDEN]
        past.pop()
