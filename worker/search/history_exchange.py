"""Exchange of shared histories with other searches: which values have changed, and what others learned.

The search marks each block of values in which it learns. `HistoryExchange.take` looks through the marked blocks for
values that differ from what was last told or heard, and returns the largest differences. A value that is heard becomes
the mean over the searches that changed it. A sum would go too far, because searches of one position learn the same at
the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from worker.engine import HistoryChanges
from worker.jit import jit
from worker.jit.memory import CACHE_LINE, aligned_empty, ld16, ldu8, ldu64, prefetch, st8, st16
from worker.search.state import MARK_SHIFT, SHARED_LIMITS, SHARED_SIZES, Histories, starts

_VALUE_BYTES: Final = 2
_BLOCK: Final = (1 << MARK_SHIFT) // _VALUE_BYTES
"""Values of a block."""
_AHEAD: Final = 8
"""Blocks between the one that is read and the one that is prefetched. Each takes 4 cache lines of two tables."""
_UNIT: Final = 1 << 12
"""Changes are compared in parts of their tables' limits; this many are a limit. The largest is from one limit to the
opposite one."""

NO_CHANGES: Final = HistoryChanges(np.empty(0, np.uint32), np.empty(0, np.int16))


class HistoryExchange:
    """One search's part in the exchange. One thread at a time uses it, which need not be that of the search.

    Args:
        histories: the shared tables; they must outlive this.
    """

    _MOST: Final = 1 << 18
    """The most changes that are looked at in one call. What is beyond waits."""

    def __init__(self, histories: Histories) -> None:
        self._histories = histories
        self._known = aligned_empty(len(histories.values), np.int16)
        self._blocks = np.empty(len(histories.marks), np.uint32)
        self._places = np.empty(self._MOST, np.uint32)
        self._sizes = np.empty(self._MOST, np.uint16)
        self._numbers = np.empty(2 * _UNIT + 1, np.int32)
        self.forget()
        self.take(1)  # reads the compiled code, which would otherwise take its time from the first search
        self.absorb([NO_CHANGES])

    def forget(self) -> None:
        """Regard all present values as known to the others."""
        self._histories.marks[:] = 0
        self._known[:] = self._histories.values
        self._told = self._told_before = NO_CHANGES.places

    def take(self, most: int) -> HistoryChanges:
        """The changes since the last call, but at most ``most``, the largest ones in relation to their tables' limits.
        The others are looked at again when the search learns again in their block."""
        self._told_before, self._told = self._told, NO_CHANGES.places
        if most <= 0:
            return NO_CHANGES
        self._numbers[:] = 0
        count, start = 0, starts(SHARED_SIZES)
        where = self._histories.address, self._known.ctypes.data
        marks = self._histories.marks.ctypes.data
        for name, limit in SHARED_LIMITS.items():
            blocks = start[name] // _BLOCK, (start[name] + SHARED_SIZES[name]) // _BLOCK
            found = self._places, self._sizes, self._numbers, count
            count = int(collect_changes(marks, *blocks, self._blocks, *where, limit, *found))
        told = np.empty(min(most, count), np.uint32), np.empty(min(most, count), np.int16)
        tell_largest(self._places, self._sizes, self._numbers, count, *where, *told)
        self._told = told[0]
        return HistoryChanges(*told)

    def absorb(self, heard: Sequence[HistoryChanges]) -> None:
        """Take over what other searches told: each value becomes the mean of theirs, and of this one's own if one of
        the last two calls of `take` told it. (Two, because what others told meanwhile has crossed with the first.)"""
        places = np.concatenate([changes.places for changes in heard])
        values = np.concatenate([changes.values for changes in heard])
        if len(heard) > 1:
            order = np.argsort(places, kind="stable")
            places, values = places[order], values[order]
        # A place beyond the tables would be foreign memory.
        places = places[: np.searchsorted(places, len(self._known))]
        where = self._histories.address, self._known.ctypes.data
        take_means(places, values, self._told, self._told_before, *where)


@jit()
def collect_changes(
    marks: int,
    first: int,
    end: int,
    blocks: Any,
    values: int,
    known: int,
    limit: int,
    places: Any,
    sizes: Any,
    numbers: Any,
    count: Any,
) -> Any:
    """Append the changes in the marked blocks from ``first`` to ``end``, and remove their marks.

    Args:
        marks, values, known: addresses.
        blocks: room for the numbers of all blocks.
        limit: of the table; a change of this size is `_UNIT`.
        places, sizes: of the changes, in the order of their places.
        numbers: of changes by size.

    Returns:
        The new count.
    """
    scale = (_UNIT << 32) // limit + 1  # change * scale >> 32 is change * _UNIT // limit, without a division
    marked = np.int64(0)
    block = np.int64(first)
    while block < end:
        if block & 7 == 0 and block + 8 <= end and ldu64(marks + block) == np.uint64(0):
            block += 8
            continue
        if ldu8(marks + block) != 0:
            blocks[marked] = block
            marked += 1
        block += 1
    for i in range(marked):
        if count + _BLOCK > len(places):
            return count
        if i + _AHEAD < marked:
            line = np.int64(blocks[i + _AHEAD]) << MARK_SHIFT
            for at in range(line, line + (1 << MARK_SHIFT), CACHE_LINE):
                prefetch(values + at)
                prefetch(known + at)
        block = np.int64(blocks[i])
        st8(marks + block, np.int64(0))  # before its values are read: a later change marks it again
        line = block << MARK_SHIFT
        for at in range(line, line + (1 << MARK_SHIFT), 8):
            if ldu64(values + at) != ldu64(known + at):
                for place in range(at, at + 8, _VALUE_BYTES):
                    change = ld16(values + place) - ld16(known + place)
                    size = min(abs(change) * scale >> 32, 2 * _UNIT)
                    places[count] = place // _VALUE_BYTES  # written anyway: a jump that is hard to predict costs more
                    sizes[count] = size
                    is_one = np.int64(change != 0)
                    numbers[size] += is_one
                    count += is_one
    return count


@jit()
def tell_largest(
    places: Any, sizes: Any, numbers: Any, count: int, values: int, known: int, told: Any, told_values: Any
) -> None:
    """Fill ``told`` and ``told_values`` with the largest of ``count`` changes, in the order of their places, and note
    these values in ``known``. Of equal ones the first come."""
    room = np.int64(len(told))
    least = np.int64(len(numbers))  # all changes of at least this size have room
    while least > 0 and numbers[least - 1] <= room:
        least -= 1
        room -= numbers[least]
    i = np.int64(0)
    for change in range(count):
        size = np.int64(sizes[change])
        if size < least:
            if size != least - 1 or room == 0:
                continue
            room -= 1
        at = np.int64(places[change]) * _VALUE_BYTES
        value = ld16(values + at)
        st16(known + at, value)
        told[i] = places[change]
        told_values[i] = value
        i += 1


@jit()
def take_means(places: Any, heard: Any, told: Any, told_before: Any, values: int, known: int) -> None:
    """Set the value at each of ``places`` (ascending, with repetitions) to the mean of what was ``heard`` for it, and
    of its own if it is among ``told`` or ``told_before`` (both ascending)."""
    own = before = i = np.int64(0)
    while i < len(places):
        place = np.int64(places[i])
        total = count = np.int64(0)
        while i < len(places) and np.int64(places[i]) == place:
            total += np.int64(heard[i])
            count += 1
            i += 1
        while own < len(told) and np.int64(told[own]) < place:
            own += 1
        while before < len(told_before) and np.int64(told_before[before]) < place:
            before += 1
        at = place * _VALUE_BYTES
        if (own < len(told) and np.int64(told[own]) == place) or (
            before < len(told_before) and np.int64(told_before[before]) == place
        ):
            total += ld16(values + at)
            count += 1
        mean = np.int64(np.rint(total / count))
        st16(values + at, mean)
        st16(known + at, mean)
