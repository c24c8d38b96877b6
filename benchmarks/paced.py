"""An engine that only pretends to search, so that everything else can be measured.

In a separate module, because nodes are other processes and import it by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from worker.engine import Bound, InfoCallback, Limits, SearchInfo, SearchResult
from worker.rules import Rules
from worker.shogi import Position, move_to_usi

_INTERVAL_S = 0.05


def now_us() -> int:
    """Microseconds of a clock that all processes of this machine share."""
    return time.monotonic_ns() // 1000


class PacedEngine:
    """An `Engine` that reports but does not search."""

    def __init__(self) -> None:
        self.name = "paced"
        self.can_split = True
        self.rules = Rules()
        self._stop = threading.Event()
        self._moves: list[str] = []

    def new_game(self) -> None: ...

    def set_position(self, sfen: str, moves: Sequence[str] = ()) -> None:
        position = Position.from_sfen(sfen)
        position.push_all(moves)
        self._moves = [move_to_usi(move) for move in position.legal_moves()]
        self._stop.clear()

    def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
        """Report at once, and then at intervals, until stopped or out of time."""
        allowed = [move for move in limits.searchmoves or self._moves if move not in limits.ignoremoves]
        end = None if limits.movetime_ms is None else time.monotonic() + limits.movetime_ms / 1000
        depth = 0
        while True:
            depth = min(depth + 1, 60)
            for rank, move in enumerate(allowed[: limits.multipv], 1):
                if on_info is not None:
                    on_info(SearchInfo(depth, depth, -rank, Bound.EXACT, now_us(), 1, 0, (move,), rank))
            left = _INTERVAL_S if end is None else min(_INTERVAL_S, end - time.monotonic())
            if left <= 0 or self._stop.wait(left):
                return SearchResult(allowed[0], None, now_us(), 1)

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None: ...


def paced_engine(*_: object) -> PacedEngine:
    """Make the engine; other processes import this by name."""
    return PacedEngine()
