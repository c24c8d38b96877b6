"""The root learns as every node does, and is known to the table."""

from __future__ import annotations

import numpy as np

from worker.engine import Limits
from worker.jit import jit
from worker.jit.memory import ld16
from worker.nnue import Network
from worker.search.engine import NumbaEngine
from worker.search.history import low_ply_address
from worker.search.state import LOW_PLY_BEGINS
from worker.search.tt import EXACT, entry_bound, entry_depth, probe
from worker.shogi import STARTPOS, Position, move_to_usi
from worker.training import generation0


@jit()
def read(address):  # type: ignore[no-untyped-def]
    return ld16(address)


def test_moves_tried_in_vain_fall_and_the_root_is_stored() -> None:
    # A net that never changes: where the best move changes at the end, what it learned lies behind the others'.
    engine = NumbaEngine(hash_mb=16, network=Network(generation0.build()))
    engine.set_position(STARTPOS)
    result = engine.go(Limits(depth=6))
    th = engine._threads[0].record
    learned = {
        move_to_usi(move): int(read(low_ply_address(th, np.int64(0), np.int64(move))))
        for move in Position.startpos().legal_moves()
    }
    assert learned[result.bestmove] > LOW_PLY_BEGINS
    assert sum(value < LOW_PLY_BEGINS for value in learned.values()) > 10
    data = np.uint64(probe(th, Position.startpos().record.key))
    assert entry_bound(data) == EXACT
    assert entry_depth(data) >= 1
