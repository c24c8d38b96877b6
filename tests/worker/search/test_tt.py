"""The transposition table keeps stored entries, and no torn ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.worker.search.tables import thread_on
from worker.score import MATE, NO_SCORE
from worker.search.tt import (
    LOWER,
    UNSEARCHED,
    UPPER,
    TranspositionTable,
    entry_bound,
    entry_depth,
    entry_eval,
    entry_is_pv,
    entry_move,
    entry_score,
    probe,
    store,
)
from worker.shogi import Position


def test_stored_entries_come_back() -> None:
    table = TranspositionTable(1)
    th = thread_on(table).record
    position = Position.startpos()
    moves = position.legal_moves()
    rng = random.Random(1)
    for _ in range(2000):
        key = np.uint64(rng.getrandbits(64))
        score = rng.choice([0, 250, -31, MATE - 9, 9 - MATE])
        static_eval = rng.choice([-4000, 17, NO_SCORE])
        depth, bound, is_pv, move = (
            rng.randrange(UNSEARCHED, 254),
            rng.randrange(1, 4),
            rng.randrange(2),
            rng.choice([0, *moves]),
        )
        store(th, key, 5, move, score, static_eval, depth, bound, is_pv)
        data = np.uint64(probe(th, key))
        assert data
        assert entry_score(data, 5) == score
        assert entry_eval(data) == static_eval
        assert (entry_depth(data), entry_bound(data), entry_is_pv(data)) == (depth, bound, bool(is_pv))
        assert entry_move(position.record, data) == move


def test_a_mate_score_counts_from_the_node_that_reads_it() -> None:
    th = thread_on(TranspositionTable(1)).record
    key = np.uint64(12345)
    store(th, key, 4, 0, MATE - 10, 0, 3, 3, 0)  # mate at ply 10, seen from ply 4: six plies away
    assert entry_score(np.uint64(probe(th, key)), 7) == MATE - 13


def test_a_torn_entry_is_no_entry() -> None:
    table = TranspositionTable(1)
    th = thread_on(table).record
    key = np.uint64(99)
    store(th, key, 0, 0, 10, 10, 5, 3, 0)
    at = int(np.flatnonzero(table._words)[1])
    table._words[at] ^= np.uint64(1 << 20)
    assert probe(th, key) == 0


def test_deep_and_fresh_entries_stay() -> None:
    th = thread_on(TranspositionTable(1)).record
    th.tt_generation = 30

    def kept(*entries: tuple[int, int]) -> list[int]:
        for key, depth in entries:  # small keys all fall into the first cluster
            store(th, np.uint64(key), 0, 0, 0, 0, depth, 3, 0)
        return [key for key in range(1, 11) if probe(th, np.uint64(key))]

    assert kept(*((key, 10 * key) for key in range(1, 9))) == [5, 6, 7, 8]
    th.tt_generation = 4  # six searches later: 48 plies less
    assert kept((9, 20), (10, 20)) == [7, 8, 9, 10]


def test_a_shallow_bound_leaves_a_deep_entry_its_word_and_gives_it_its_move() -> None:
    th = thread_on(TranspositionTable(1)).record
    position = Position.startpos()
    first, second = position.parse_usi("7g7f"), position.parse_usi("2g2f")
    key = np.uint64(77)
    store(th, key, 0, first, 50, 50, 12, UPPER, 0)
    for depth in (7, 8):
        store(th, key, 0, second, -50, -50, depth, LOWER, 0)
        data = np.uint64(probe(th, key))
        assert (entry_score(data, 0), entry_eval(data), entry_depth(data)) == (50, 50, 12)
        assert (entry_bound(data), entry_move(position.record, data)) == (UPPER, second)
    store(th, key, 0, 0, -50, -50, 9, LOWER, 0)
    assert entry_depth(np.uint64(probe(th, key))) == 9
    th.tt_generation += 1
    store(th, key, 0, second, -50, -50, 3, LOWER, 0)
    assert entry_depth(np.uint64(probe(th, key))) == 3, "an entry of an earlier search does not keep its place"


@pytest.mark.parametrize("megabytes", [0, -3])
def test_a_size_below_one_is_refused(megabytes: int) -> None:
    with pytest.raises(ValueError, match="expected 1 or more"):
        TranspositionTable(megabytes)


def test_clear_and_hashfull() -> None:
    table = TranspositionTable(1)
    th = thread_on(table).record
    table.new_search()
    th.tt_generation = table.generation
    rng = random.Random(8)
    for _ in range(60_000):
        store(th, np.uint64(rng.getrandbits(64)), 0, 0, 0, 0, 1, 3, 0)
    assert 300 < table.hashfull() <= 1000
    table.new_search()
    assert table.hashfull() == 0
    table.clear()
    assert not table._words.any()
