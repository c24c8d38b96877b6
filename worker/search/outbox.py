"""The outbox: table entries that a search thread wrote and other nodes may want, in a ring of its own.

The search writes and never waits: entries that are not taken in time are overwritten. A reader that is overtaken while
it copies may see an entry of two halves; its key (kept XORed with its data, as in the table) is then one that no
position has.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.engine import Entries
from worker.jit import jit
from worker.jit.memory import aligned_zeros, ldu64, st64

RING: Final = 1 << 14
"""Entries that wait at most: at a million nodes a second some 100 ms of depth 2 and more."""

_SEEN: Final = 1 << 13
"""Slots for the keys that `collect` remembers, by their hash."""
_HASH_SHIFT: Final = np.uint64(64 - 13)
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)


class Outbox:
    """The memory of one thread's ring, and the reader's place in it. One reader at a time."""

    def __init__(self, record: Any) -> None:
        self._words = aligned_zeros((RING, 2), np.uint64)
        self._seen = aligned_zeros(_SEEN, np.uint64)
        self._kept = aligned_zeros((RING, 2), np.uint64)
        self._record = record
        self._taken = 0
        record.outbox = self._words.ctypes.data

    def take(self) -> Entries:
        """Take the entries written since the last call, oldest first; of close ones with the same key only the last."""
        written = int(self._record.outbox_count)
        if written == self._taken:
            return np.empty((0, 2), np.uint64)
        begin, self._taken = max(self._taken, written - RING), written
        memory = (array.ctypes.data for array in (self._words, self._seen, self._kept))
        first = int(collect(*memory, begin, written))
        kept: Entries = self._kept[first:].copy()
        return kept


@jit()
def put(th: Any, key: Any, word: Any) -> None:
    """Write an entry into the thread's ring."""
    place = th.outbox + (th.outbox_count & (RING - 1)) * 16
    st64(place, np.int64(key ^ word))
    st64(place + 8, np.int64(word))
    th.outbox_count += 1


@jit()
def collect(ring: int, seen: int, kept: int, begin: int, end: int) -> Any:
    """Copy the entries ``begin`` … ``end`` - 1 of a ring, from the newest on, to the end of ``kept`` (`RING` entries).

    An entry is left out whose key was met not long before: a search writes the same position again and again.

    Args:
        ring, seen, kept: addresses; of `_SEEN` words ``seen``, which is cleared first.

    Returns:
        The first place of ``kept`` that was filled.
    """
    for i in range(_SEEN):
        st64(seen + 8 * i, np.int64(0))
    place = np.int64(RING)
    at = end - 1
    while at >= begin:
        entry = ring + (at & (RING - 1)) * 16
        word = ldu64(entry + 8)
        key = ldu64(entry) ^ word
        slot = seen + np.int64((key * _HASH) >> _HASH_SHIFT) * 8
        if ldu64(slot) != key:
            st64(slot, np.int64(key))
            place -= 1
            st64(kept + place * 16, np.int64(key))
            st64(kept + place * 16 + 8, np.int64(word))
        at -= 1
    return place
