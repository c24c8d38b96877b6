"""The outbox: table entries that a search thread wrote and other nodes may want, in a ring of its own.

The search writes and never waits: what was not taken in time is overwritten. A reader that is overtaken while it copies
may see an entry of two halves; its key (kept XORed with its data, as in the table) is then one that no position has.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.engine import Entries
from worker.jit import jit
from worker.jit.memory import aligned_zeros, st64

RING: Final = 1 << 14
"""Entries that wait at most: at a million nodes a second some 100 ms of depth 2 and more."""


class Outbox:
    """The memory of one thread's ring, and the reader's place in it. One reader at a time."""

    def __init__(self, record: Any) -> None:
        self._words = aligned_zeros((RING, 2), np.uint64)
        self._record = record
        self._taken = 0
        record.outbox = self._words.ctypes.data

    def take(self) -> Entries:
        """What was written since the last call, oldest first, each position's last entry only."""
        written = int(self._record.outbox_count)
        if written == self._taken:
            return np.empty((0, 2), np.uint64)
        if written - self._taken > RING:
            self._taken = written - RING
        places = np.arange(self._taken, written) & (RING - 1)
        self._taken = written
        entries = self._words[places]
        entries[:, 0] ^= entries[:, 1]
        _, last = np.unique(entries[::-1, 0], return_index=True)
        kept: Entries = entries[np.sort(len(entries) - 1 - last)]
        return kept


@jit()
def put(th: Any, key: Any, word: Any) -> None:
    """Write an entry into the thread's ring."""
    place = th.outbox + (th.outbox_count & (RING - 1)) * 16
    st64(place, np.int64(key ^ word))
    st64(place + 8, np.int64(word))
    th.outbox_count += 1
