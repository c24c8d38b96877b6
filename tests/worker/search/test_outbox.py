"""Entries that a table gives out help another one, and entries that it takes in do no harm."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lab.training import generation0
from tests.worker.search.tables import thread_on
from worker.engine import Limits
from worker.nnue import Network
from worker.score import MATE
from worker.search.engine import NumbaEngine
from worker.search.tt import (
    EXACT,
    LOWER,
    RING,
    UPPER,
    Outbox,
    TranspositionTable,
    absorb,
    entry_bound,
    entry_depth,
    entry_move,
    entry_score,
    probe,
    store,
)
from worker.shogi import STARTPOS, Position


def put(th: object, key: int, depth: int, bound: int = LOWER, score: int = 10) -> None:
    store(th, np.uint64(key), 0, 0, score, 0, depth, bound, 0)


def test_only_deep_entries_go_out_and_each_position_once() -> None:
    th = thread_on(TranspositionTable(1))
    outbox = Outbox(th.record)
    th.record.share_depth = 3
    put(th.record, 111, 2)
    put(th.record, 222, 3)
    put(th.record, 333, 5)
    put(th.record, 222, 4)
    put(th.record, 444, 9, bound=0)  # an evaluation and no score
    put(th.record, 555, 9, bound=EXACT, score=MATE - 1)  # a mate in one, found again at once
    entries = outbox.take()
    assert entries[:, 0].tolist() == [333, 222]
    assert [int(entry_depth(np.uint64(word))) for word in entries[:, 1]] == [5, 4]
    assert len(outbox.take()) == 0


def test_a_node_that_does_not_share_writes_nothing() -> None:
    th = thread_on(TranspositionTable(1))
    outbox = Outbox(th.record)
    put(th.record, 111, 60)
    assert len(outbox.take()) == 0


def test_entries_not_taken_in_time_are_lost() -> None:
    th = thread_on(TranspositionTable(1))
    outbox = Outbox(th.record)
    th.record.share_depth = 1
    for key in range(1, RING + 11):
        put(th.record, key, 1)
    entries = outbox.take()
    assert entries[:, 0].tolist() == list(range(11, RING + 11))


def test_an_entry_crosses_to_another_table_whole() -> None:
    position = Position.startpos()
    rng = random.Random(3)
    there, here = thread_on(TranspositionTable(1)), thread_on(TranspositionTable(1))
    outbox = Outbox(there.record)
    there.record.share_depth = 1
    there.record.tt_generation, here.record.tt_generation = 7, 21
    known = {}
    for move in position.legal_moves():
        key = np.uint64(rng.getrandbits(64))
        known[int(key)] = (rng.randrange(-3000, 3000), rng.randrange(1, 60), rng.choice([LOWER, UPPER]), move)
        store(there.record, key, 3, move, *known[int(key)][:1], 0, *known[int(key)][1:3], 1)
    entries = outbox.take()
    assert absorb(here.record, entries.ctypes.data, len(entries)) == len(known)
    for key, (score, depth, bound, move) in known.items():
        data = np.uint64(probe(here.record, np.uint64(key)))
        assert (entry_score(data, 9), entry_depth(data), entry_bound(data)) == (score, depth, bound)
        assert entry_move(position.record, data) == move
        assert int(data >> np.uint64(59)) == 21, "it is as fresh as this table's own entries"


def test_an_equally_deep_entry_stays() -> None:
    here = thread_on(TranspositionTable(1))
    put(here.record, 5, 8, score=77)
    there = thread_on(TranspositionTable(1))
    outbox = Outbox(there.record)
    there.record.share_depth = 1
    put(there.record, 5, 8, score=-5)
    entries = outbox.take()
    assert absorb(here.record, entries.ctypes.data, 1) == 0
    put(there.record, 5, 9, score=-5)
    entries = outbox.take()
    assert absorb(here.record, entries.ctypes.data, 1) == 1
    assert entry_score(np.uint64(probe(here.record, np.uint64(5))), 0) == -5


def test_a_known_move_outlives_a_result_without_one() -> None:
    here, there = thread_on(TranspositionTable(1)), thread_on(TranspositionTable(1))
    position = Position.startpos()
    move, key = position.parse_usi("7g7f"), np.uint64(position.key)
    store(here.record, key, 0, move, 50, 50, 5, LOWER, 0)
    outbox = Outbox(there.record)
    there.record.share_depth = 1
    store(there.record, key, 0, 0, 9, 9, 6, UPPER, 0)
    entries = outbox.take()
    assert absorb(here.record, entries.ctypes.data, len(entries)) == 1
    data = np.uint64(probe(here.record, key))
    assert (entry_depth(data), entry_score(data, 0)) == (6, 9)
    assert int(entry_move(position.record, data)) == move


def test_entries_of_a_search_save_another_engine_work() -> None:
    # A net that never changes: the amount depends on the net, and a new net is no fault of the table.
    network = Network(generation0.build())
    first, second = NumbaEngine(8, network=network), NumbaEngine(8, network=network)
    first.share(1)
    alone = together = 0
    for opening in ("7g7f", "2g2f", "5i6h", "7i6h", "6i7h", "4i5h", "3i4h", "9g9f", "1g1f", "6g6f"):
        for engine in (first, second):
            engine.new_game()
            engine.set_position(STARTPOS, (opening,))
        alone += first.go(Limits(depth=11)).nodes
        entries = first.take_entries()
        # Not all: an entry that comes again, no deeper than before, is of no use.
        assert second.absorb_entries(entries) > 0.8 * len(entries)
        together += second.go(Limits(depth=11)).nodes
    assert together < 0.8 * alone


@pytest.mark.parametrize("seed", range(3))
def test_any_words_do_no_harm(seed: int) -> None:
    """A peer may send anything: the keys of real positions with random words after them."""
    rng = np.random.default_rng(seed)
    engine = NumbaEngine(1)
    engine.share(0)
    engine.set_position(STARTPOS)
    engine.go(Limits(nodes=20_000))
    entries = engine.take_entries()
    entries[:, 1] = rng.integers(0, 1 << 63, len(entries), dtype=np.uint64) << np.uint64(1)
    engine.new_game()
    engine.set_position(STARTPOS)
    engine.absorb_entries(entries)
    result = engine.go(Limits(nodes=20_000))
    position = Position.startpos()
    for move in result.lines[0].pv:
        position.push_usi(move)  # raises if it is not legal
