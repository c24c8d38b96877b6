"""The transposition table: clusters of four 16-byte entries, one cache line each, shared by all threads.

An entry is two words: ``key ^ data`` and ``data``. A torn entry (two threads write at once) fails the XOR test, so no
lock is needed (Hyatt's lockless hashing). ``data``: move 16 bits | score 16 | static evaluation 16 | depth 8 | bound 2
| pv 1 | generation 5. The whole 64-bit key is kept.

The **outbox** is a ring per thread, with the entries that it wrote for other nodes. The search writes and never waits:
entries that are not taken in time are overwritten. If a reader is overtaken while it copies, it may see two halves of
different entries; the key (XORed with the data, as in the table) then matches no position.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.engine import Entries
from worker.jit import jit
from worker.jit.bits import mul_high
from worker.jit.memory import aligned_zeros, ldu64, prefetch, st64
from worker.score import MATE, MATE_BOUND, NO_SCORE
from worker.shogi.pieces import DROP_BIT

RING: Final = 1 << 14
"""The most entries that wait: at a million nodes a second some 100 ms of depth 2 and more."""

_SEEN: Final = 1 << 13
"""Slots for the keys that `collect` remembers, by their hash."""
_HASH_SHIFT: Final = np.uint64(64 - 13)
_HASH: Final = np.uint64(0x9E3779B97F4A7C15)


class Outbox:
    """The memory of one thread's ring, and the reader's position in it. One reader at a time."""

    def __init__(self, record: Any) -> None:
        self._words = aligned_zeros((RING, 2), np.uint64)
        self._seen = aligned_zeros(_SEEN, np.uint64)
        self._kept = aligned_zeros((RING, 2), np.uint64)
        self._record = record
        self._taken = 0
        record.outbox = self._words.ctypes.data

    def take(self) -> Entries:
        """Take the entries written since the last call, oldest first; if nearby ones have the same key, only the
        last."""
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

    An entry is skipped if its key was seen shortly before: a search writes the same position again and again.

    Args:
        ring, seen, kept: addresses; ``seen`` has `_SEEN` words and is cleared first.

    Returns:
        The first index of ``kept`` that was filled.
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


CLUSTER_BYTES: Final = 64
_ENTRY: Final = 16
GENERATIONS: Final = 32
_BIAS: Final = 32768
_SAMPLE: Final = 1000
"""The number of entries that `TranspositionTable.hashfull` samples."""
_AHEAD: Final = 16
"""The number of entries by which `absorb` prefetches ahead."""
_MATE_IN_ONE: Final = MATE - 1
"""The score of a mate in one, as stored in an entry. Such a mate is found again at once, so it is not worth sharing;
there were as many of them as entries of depth 4 and more.
"""

LOWER: Final = 1
UPPER: Final = 2
EXACT: Final = 3
"""Bounds of an entry, as `worker.engine.Bound` numbers them; 0: the evaluation alone."""

UNSEARCHED: Final = -2
"""plies: the depth of an entry with an evaluation only, without searched moves; 0 is a quiescence search."""


class TranspositionTable:
    """The memory of the table.

    Args:
        megabytes: its size, 1 or more. The system allocates the memory when it is first touched.
    """

    def __init__(self, megabytes: int) -> None:
        if megabytes < 1:
            raise ValueError(f"hash of {megabytes} MB: expected 1 or more")
        self.clusters = megabytes * (1 << 20) // CLUSTER_BYTES
        self.generation = 0
        self._words = aligned_zeros(self.clusters * CLUSTER_BYTES // 8, np.uint64)
        self.address = int(self._words.ctypes.data)

    def new_search(self) -> None:
        """Make the entries of earlier searches older."""
        self.generation = (self.generation + 1) % GENERATIONS

    def clear(self) -> None:
        """Forget everything."""
        self._words[:] = 0
        self.generation = 0

    def hashfull(self) -> int:
        """Permille of a sample's entries that the current search wrote."""
        return int(_count_fresh(self.address, self.generation)) * 1000 // _SAMPLE


@jit()
def entry_generation(data: Any) -> Any:
    """The generation of the search that last wrote an entry (int64)."""
    return np.int64(data >> np.uint64(59))


@jit()
def _count_fresh(address: int, generation: int) -> Any:
    """The number of the first `_SAMPLE` entries that the search of that generation wrote."""
    count = np.int64(0)
    for i in range(_SAMPLE):
        data = ldu64(address + i * _ENTRY + 8)
        if data != np.uint64(0) and entry_generation(data) == generation:
            count += 1
    return count


@jit()
def cluster_address(th: Any, key: Any) -> Any:
    """The address of the cluster of ``key``."""
    return th.tt + np.int64(mul_high(key, th.tt_clusters)) * CLUSTER_BYTES


@jit()
def prefetch_entry(th: Any, key: Any) -> None:
    prefetch(cluster_address(th, key))


@jit()
def probe(th: Any, key: Any) -> Any:
    """The data word (uint64) of ``key``, 0 if the table has none."""
    entry = cluster_address(th, key)
    for _ in range(4):
        data = ldu64(entry + 8)
        if (ldu64(entry) ^ data) == key and data != np.uint64(0):
            return data
        entry += _ENTRY
    return np.uint64(0)


@jit()
def entry_score(data: Any, ply: int) -> Any:
    """The score of an entry (int64), mates counted from the root; ``ply``: that of the position."""
    score = np.int64((data >> np.uint64(16)) & np.uint64(0xFFFF)) - _BIAS
    if score >= MATE_BOUND:
        return score - ply
    if score <= -MATE_BOUND:
        return score + ply
    return score


@jit()
def entry_eval(data: Any) -> Any:
    """The static evaluation of an entry (int64, centipawns; `NO_SCORE`: it has none)."""
    return np.int64((data >> np.uint64(32)) & np.uint64(0xFFFF)) - _BIAS


@jit()
def entry_depth(data: Any) -> Any:
    """The depth of an entry (int64, plies), from `UNSEARCHED` on."""
    return np.int64((data >> np.uint64(48)) & np.uint64(0xFF)) + UNSEARCHED


@jit()
def entry_bound(data: Any) -> Any:
    """The bound of an entry (int64): 0 none, 1 lower, 2 upper, 3 exact (`worker.engine.Bound`)."""
    return np.int64((data >> np.uint64(56)) & np.uint64(3))


@jit()
def entry_is_pv(data: Any) -> Any:
    return (data >> np.uint64(58)) & np.uint64(1) != np.uint64(0)


@jit()
def entry_move(pos: Any, data: Any) -> Any:
    """The move of an entry with its piece taken from the board; it may be illegal. 0: none."""
    move = np.int64(data & np.uint64(0xFFFF))
    if move == 0:
        return np.int64(0)
    origin = (move >> 7) & 127
    if move & DROP_BIT:
        return move | (((pos.side << 4) | origin) << 16)
    if origin > 80:
        return np.int64(0)
    return move | (np.int64(pos.board[origin]) << 16)


@jit()
def _place(th: Any, key: Any) -> Any:
    """The address for an entry of ``key``: its own entry, else an empty one, else the one of least depth and greatest
    age.
    """
    first = cluster_address(th, key)
    chosen = first
    worst = np.int64(1 << 30)
    for i in range(4):
        entry = first + i * _ENTRY
        data = ldu64(entry + 8)
        if data == np.uint64(0) or (ldu64(entry) ^ data) == key:
            return entry
        age = (th.tt_generation - entry_generation(data)) & (GENERATIONS - 1)
        worth = entry_depth(data) - 8 * age
        if worth < worst:
            worst = worth
            chosen = entry
    return chosen


@jit()
def store(
    th: Any, key: Any, ply: int, move: Any, score: int, static_eval: int, depth: int, bound: int, is_pv: int
) -> None:
    """Write an entry; at ``th.share_depth`` and deeper also into the outbox."""
    place = _place(th, key)
    data = ldu64(place + 8)
    if data != np.uint64(0) and (ldu64(place) ^ data) == key:
        # A shallow bound does not replace a deep result of the same search.
        fresh = entry_generation(data) == th.tt_generation
        if bound != 3 and depth + 4 + 2 * is_pv <= entry_depth(data) and fresh:
            # But its move is the newest good one, and nearly always the one to try first.
            if move != 0:
                word = (data & ~np.uint64(0xFFFF)) | np.uint64(move & 0xFFFF)
                st64(place, np.int64(key ^ word))
                st64(place + 8, np.int64(word))
            return
        if move == 0:
            move = np.int64(data & np.uint64(0xFFFF))
    if score >= MATE_BOUND and score < NO_SCORE:
        score += ply
    elif score <= -MATE_BOUND:
        score -= ply
    word = np.uint64(move & 0xFFFF) | (np.uint64(score + _BIAS) << np.uint64(16))
    word |= np.uint64(static_eval + _BIAS) << np.uint64(32)
    word |= np.uint64(depth - UNSEARCHED) << np.uint64(48)
    word |= np.uint64(bound) << np.uint64(56)
    word |= np.uint64(is_pv) << np.uint64(58)
    word |= np.uint64(th.tt_generation) << np.uint64(59)
    st64(place, np.int64(key ^ word))
    st64(place + 8, np.int64(word))
    if th.share_depth <= depth and bound != 0 and score != _MATE_IN_ONE:
        put(th, key, word)


@jit()
def absorb(th: Any, address: int, count: int) -> Any:
    """Write ``count`` entries of another node's table (`worker.search.tt`) from ``address`` on into this one.

    Returns how many were useful: a deeper entry of this table stays, and one of equal depth unless only the new one is
    exact. May run during a search.
    """
    used = np.int64(0)
    for i in range(count):
        if i + _AHEAD < count:
            prefetch_entry(th, ldu64(address + (i + _AHEAD) * _ENTRY))
        key = ldu64(address + i * _ENTRY)
        word = ldu64(address + i * _ENTRY + 8)
        word = (word & np.uint64((1 << 59) - 1)) | (np.uint64(th.tt_generation) << np.uint64(59))
        place = _place(th, key)
        data = ldu64(place + 8)
        if data != np.uint64(0) and (ldu64(place) ^ data) == key:
            better = entry_depth(word) > entry_depth(data)
            equal = entry_depth(word) == entry_depth(data) and entry_bound(word) == EXACT and entry_bound(data) != EXACT
            if not better and not equal:
                continue
            if word & np.uint64(0xFFFF) == np.uint64(0):  # a fail-low has no move: keep the known one
                word |= data & np.uint64(0xFFFF)
        st64(place, np.int64(key ^ word))
        st64(place + 8, np.int64(word))
        used += 1
    return used
