"""The two tables of the mate search.

**Entries** (32 bytes, open addressing, home slot by board key): all hands of one board are in one chain, so that one
walk finds all entries that dominate by hand. Layout: board key u64 | attacker's hand u32 | length u16 | least depth u16
| pn u32 | dn u32 | work u32 | flags u32. Before the chains grow long, the entries of least work are removed (Nagai's
SmallTreeGC).

**Loops** (16 bytes, direct mapped): disproofs that are valid on one path only, by the path's key.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import mul_high
from worker.jit.memory import ld32, ldu16, ldu32, ldu64, prefetch, st16, st32, st64
from worker.mate.state import ABSOLUTE, INFINITE, covers

ENTRY: Final = 32
LOOP_ENTRY: Final = 16
_HAND, _LENGTH, _DEPTH, _PN, _DN, _WORK, _FLAGS = 8, 12, 14, 16, 20, 24, 28
MAY_LOOP: Final = 1
"""Flag: the table of loops has a disproof of this position for some path."""
FIRST: Final = 2
"""Both numbers of an unknown position. Above 1, so that several siblings count less than one hard child."""
_BUCKETS: Final = 64


@jit()
def _home(ms: Any, board: Any) -> Any:
    return ms.table + np.int64(mul_high(board, ms.slots)) * ENTRY


@jit()
def _end(ms: Any) -> Any:
    return ms.table + np.int64(ms.slots) * ENTRY


@jit()
def prefetch_chain(ms: Any, board: Any) -> None:
    """Prefetch the first entries of a board."""
    prefetch(_home(ms, board))


@jit()
def probe_child(ms: Any, i: int, depth: int, attacks: bool) -> Any:
    """Fill in child ``i`` of a node (``attacks``: the attacker moves there) from the table.

    Returns its flags, 0 if the table has no entry for exactly this position. ``depth`` is the child's.
    """
    board = ms.c_board[i]
    hand = ms.c_hand[i]
    entry = _home(ms, board)
    end = _end(ms)
    pn = np.int64(FIRST)
    dn = np.int64(FIRST)
    flags = np.int64(0)
    least_pn = np.int64(0)
    least_dn = np.int64(0)
    solved = 0
    while True:
        key = ldu64(entry)
        if key == np.uint64(0):
            break
        if key == board:
            known = ldu32(entry + _HAND)
            entry_pn = ldu32(entry + _PN)
            entry_dn = ldu32(entry + _DN)
            if entry_pn == 0:
                if covers(hand, known) and (solved == 0 or ldu16(entry + _LENGTH) < ms.c_length[i]):
                    solved = 1
                    pn = np.int64(0)
                    dn = np.int64(INFINITE)
                    ms.c_hand[i] = known
                    ms.c_length[i] = ldu16(entry + _LENGTH)
            elif entry_dn == 0:
                if covers(known, hand) and solved == 0:
                    solved = 2
                    pn = np.int64(INFINITE)
                    dn = np.int64(0)
                    ms.c_hand[i] = known
                    break
            elif solved == 0:
                if known == hand:
                    pn = entry_pn
                    dn = entry_dn
                    flags = ldu32(entry + _FLAGS)
                elif ldu16(entry + _DEPTH) >= depth:
                    # A larger hand needs no larger proof, a smaller one no larger disproof.
                    if covers(known, hand):
                        least_pn = max(least_pn, entry_pn)
                    elif covers(hand, known):
                        least_dn = max(least_dn, entry_dn)
        entry += ENTRY
        if entry == end:
            entry = ms.table
    if solved == 0:
        pn = max(pn, least_pn)
        dn = max(dn, least_dn)
    if attacks:
        ms.c_phi[i] = pn
        ms.c_delta[i] = dn
    else:
        ms.c_phi[i] = dn
        ms.c_delta[i] = pn
    return flags


@jit()
def store(
    ms: Any, board: Any, hand: int, pn: int, dn: int, known: int, length: int, depth: int, work: int, flags: int
) -> None:
    """Store the knowledge about the position (``board``, ``hand``); ``known`` is the hand for which it is valid."""
    entry = _home(ms, board)
    end = _end(ms)
    while True:
        key = ldu64(entry)
        if key == np.uint64(0):
            st64(entry, np.int64(board))
            st16(entry + _DEPTH, depth)
            st32(entry + _WORK, 0)
            st32(entry + _FLAGS, 0)
            ms.used += 1
            break
        if key == board and ldu32(entry + _HAND) == hand and ldu32(entry + _PN) != 0 and ldu32(entry + _DN) != 0:
            break
        entry += ENTRY
        if entry == end:
            entry = ms.table
    st32(entry + _HAND, known)
    st16(entry + _LENGTH, length)
    if depth < ldu16(entry + _DEPTH):
        st16(entry + _DEPTH, depth)
    st32(entry + _PN, pn)
    st32(entry + _DN, dn)
    st32(entry + _WORK, min(ldu32(entry + _WORK) + work, INFINITE))
    st32(entry + _FLAGS, ldu32(entry + _FLAGS) | flags)


@jit()
def shorten(ms: Any, board: Any, known: int, length: int) -> None:
    """Lower the length of a proof that the table has."""
    entry = _home(ms, board)
    end = _end(ms)
    while ldu64(entry) != np.uint64(0):
        if ldu64(entry) == board and ldu32(entry + _PN) == 0 and covers(ldu32(entry + _HAND), known):
            st16(entry + _LENGTH, min(ldu16(entry + _LENGTH), length))
        entry += ENTRY
        if entry == end:
            entry = ms.table


@jit()
def _bucket(work: int) -> int:
    """The bucket of an amount of work; two buckets for each doubling."""
    bucket = 0
    while work > 3:
        work >>= 1
        bucket += 2
    return min(bucket + (work & 1), _BUCKETS - 1)


@jit()
def collect_garbage(ms: Any) -> None:
    """Remove the half of the entries with the least work, and close the gaps in the chains."""
    start = ms.table
    end = _end(ms)
    for i in range(_BUCKETS):
        ms.histogram[i] = 0
    entry = start
    while entry < end:
        if ldu64(entry) != np.uint64(0):
            ms.histogram[_bucket(ldu32(entry + _WORK))] += 1
        entry += ENTRY
    goal = ms.used // 2
    last = 0
    gone = ms.histogram[0]
    while gone < goal and last < _BUCKETS - 1:
        last += 1
        gone += ms.histogram[last]
    entry = start
    while entry < end:
        if ldu64(entry) != np.uint64(0) and _bucket(ldu32(entry + _WORK)) <= last:
            st64(entry, 0)
            ms.used -= 1
        entry += ENTRY
    # From a gap on, every entry moves to the first gap at or after its home; wrapping chains come last.
    first = start
    while ldu64(first) != np.uint64(0):
        first += ENTRY
    entry = first
    for _ in range(np.int64(ms.slots)):
        board = ldu64(entry)
        if board != np.uint64(0):
            st64(entry, 0)
            to = _home(ms, board)
            while ldu64(to) != np.uint64(0):
                to += ENTRY
                if to == end:
                    to = start
            st64(to, np.int64(board))
            if to != entry:
                for word in range(8, ENTRY, 8):
                    st64(to + word, np.int64(ldu64(entry + word)))
        entry += ENTRY
        if entry == end:
            entry = start


@jit()
def loop_of(ms: Any, path: Any) -> Any:
    """The shallowest depth whose repetition the disproof of the path's last position used; ABSOLUTE: none is known."""
    entry = ms.loops + np.int64(mul_high(path, ms.loop_slots)) * LOOP_ENTRY
    if ldu64(entry) == path:
        return ld32(entry + 8)
    return np.int64(ABSOLUTE)


@jit()
def store_loop(ms: Any, path: Any, rests: int) -> None:
    """Remember that the path's last position is disproven on this path."""
    entry = ms.loops + np.int64(mul_high(path, ms.loop_slots)) * LOOP_ENTRY
    st64(entry, np.int64(path))
    st32(entry + 8, rests)
