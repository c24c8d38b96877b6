"""Threads with separate tables; values of histories."""

from __future__ import annotations

from worker.jit import jit
from worker.jit.memory import ld16
from worker.search.state import ThreadState
from worker.search.tt import TranspositionTable

_TABLES: list[TranspositionTable] = []
"""Kept alive, because a thread's record has only the address of its table."""


def thread_on(table: TranspositionTable) -> ThreadState:
    _TABLES.append(table)
    state = ThreadState()
    state.record.tt = table.address
    state.record.tt_clusters = table.clusters
    return state


@jit()
def read(address):  # type: ignore[no-untyped-def]
    """The value at an address of a history."""
    return ld16(address)
