"""Exchange of histories between virtual nodes: each sends the others the sum of its changes.

Between two exchanges each node's tables change by its search. At an exchange all changes are added to the common state
before, and the sum is clipped to the table's limit: from then on all nodes have the same tables again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from worker.search.engine import NumbaEngine
from worker.search.state import (
    CONTINUATION_LIMIT,
    CORRECTION_LIMIT,
    H_CONTINUATION,
    H_CORRECTION,
    H_CORRECTION_MOVES,
    H_PAWN,
    PAWN_LIMIT,
)

_TABLES: Final = (
    (H_CORRECTION // 2, H_CORRECTION_MOVES // 2, CORRECTION_LIMIT),
    (H_CORRECTION_MOVES // 2, H_CONTINUATION // 2, CORRECTION_LIMIT),
    (H_PAWN // 2, H_CORRECTION // 2, PAWN_LIMIT),
    (H_CONTINUATION // 2, None, CONTINUATION_LIMIT),
)
"""First value, end, and limit of each table."""

_Values = np.ndarray[Any, np.dtype[np.int16]]


class HistoryExchange:
    """The shared histories of some engines.

    Args:
        tables: number of exchanged tables: the first two are the corrections, then come the histories by pawn structure
        and
            the continuations.
    """

    def __init__(self, engines: Sequence[NumbaEngine], tables: int) -> None:
        self._engines = engines
        self._tables = _TABLES[:tables]
        self._before: list[_Values] = []
        self.told = 0
        """Number of values that changed and were sent, by all nodes together."""
        self.begin()

    def begin(self) -> None:
        """A new game: all tables have their first values."""
        values = self._engines[0].history_values
        self._before = [values[begin:end].copy() for begin, end, _ in self._tables]

    def exchange(self) -> None:
        """Add up the changes since the last exchange."""
        for (begin, end, limit), before in zip(self._tables, self._before, strict=True):
            own = [engine.history_values[begin:end] for engine in self._engines]
            changed = [np.flatnonzero(values != before) for values in own]
            self.told += sum(map(len, changed))
            everywhere = np.unique(np.concatenate(changed))
            known = before[everywhere].astype(np.int32)
            total = known + sum(values[everywhere] - known for values in own)
            before[everywhere] = np.clip(total, -limit, limit)
            for values in own:
                values[everywhere] = before[everywhere]
