"""Entries that one engine hands out and another takes in."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from worker.engine import STARTPOS, Limits, SharesTable
from worker.nnue import default_network, kernels, portable
from worker.nnue.network import DEFAULT_NETWORK
from worker.score import MATE
from worker.search.engine import NumbaEngine
from worker.search.outbox import RING, Outbox, put
from worker.search.rules import Rules
from worker.search.state import ThreadState
from worker.search.tt import entry_bound, entry_depth
from worker.shogi import Position


@pytest.fixture
def engines() -> tuple[NumbaEngine, NumbaEngine]:
    return NumbaEngine(hash_mb=16), NumbaEngine(hash_mb=16)


def search(engine: NumbaEngine, depth: int) -> int:
    engine.set_position(STARTPOS)
    return engine.go(Limits(depth=depth)).nodes


def test_a_search_hands_out_what_is_deep_enough(engines: tuple[NumbaEngine, NumbaEngine]) -> None:
    engine, _ = engines
    assert isinstance(engine, SharesTable)
    search(engine, 6)
    assert len(engine.take_entries()) == 0
    engine.share(3)
    search(engine, 9)
    entries = engine.take_entries()
    assert len(entries) > 20
    assert len(np.unique(entries[:, 0])) == len(entries)
    assert min(int(entry_depth(word)) for word in entries[:, 1]) == 3
    assert all(entry_bound(word) for word in entries[:, 1])
    assert len(engine.take_entries()) == 0
    engine.share(None)
    search(engine, 9)
    assert len(engine.take_entries()) == 0


def test_what_another_found_need_not_be_searched_again(engines: tuple[NumbaEngine, NumbaEngine]) -> None:
    one, other = engines
    alone = search(other, 12)
    other.new_game()
    one.share(2)
    search(one, 12)
    entries = one.take_entries()
    assert other.absorb_entries(entries) == len(entries)
    assert other.absorb_entries(entries) == 0
    assert search(other, 12) < alone / 2


def test_any_words_do_no_harm(engines: tuple[NumbaEngine, NumbaEngine]) -> None:
    engine, other = engines
    random = np.random.default_rng(1)
    engine.absorb_entries(np.empty((0, 2), np.uint64))
    other.share(0)
    search(other, 9)
    entries = other.take_entries()
    for _ in range(30):
        engine.absorb_entries(random.integers(0, 2**64, (20_000, 2), np.uint64, endpoint=False))
        entries[:, 1] = random.integers(0, 2**64, len(entries), np.uint64, endpoint=False)
        engine.absorb_entries(entries)
        engine.set_position(STARTPOS)
        found = engine.go(Limits(depth=8, nodes=20_000))
        position = Position.startpos()
        for move in found.lines[0].pv:
            position.push_usi(move)
        assert abs(found.lines[0].score) <= MATE


def test_the_ring_keeps_the_newest_and_counts_the_rest() -> None:
    record = ThreadState().record
    box = Outbox(record)
    for number in range(1, RING + 11):
        put(record, np.uint64(number), np.uint64(7))
    entries = box.take()
    assert entries[:, 0].tolist() == list(range(11, RING + 11))
    assert box.lost == 10
    put(record, np.uint64(5), np.uint64(1))
    put(record, np.uint64(6), np.uint64(1))
    put(record, np.uint64(5), np.uint64(2))
    assert box.take().tolist() == [[6, 1], [5, 2]]


def test_the_meaning_is_that_of_the_network_and_the_rules() -> None:
    engine = NumbaEngine(hash_mb=1)
    meaning = engine.entries_meaning()
    assert len(bytes.fromhex(meaning)) == 16
    assert NumbaEngine(hash_mb=2, threads=2).entries_meaning() == meaning
    file = str(resources.files("worker.nnue") / "data" / DEFAULT_NETWORK)
    assert NumbaEngine(hash_mb=1, eval_file=file).entries_meaning() == meaning
    assert NumbaEngine(hash_mb=1, eval_file=file, fv_scale=17).entries_meaning() != meaning
    engine.rules = Rules(max_moves=256)
    assert engine.entries_meaning() != meaning
    other = NumbaEngine(hash_mb=1)
    other._network.layers[0][0][0] += 1
    assert other.entries_meaning() != meaning


def test_the_meaning_does_not_depend_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    here = NumbaEngine(hash_mb=1)
    meaning, layers = here.entries_meaning(), here._network.layers
    monkeypatch.setattr(kernels, "arrange_layer", portable.arrange_layer)
    elsewhere = default_network()
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(layers, elsewhere.layers, strict=True))
    here._network = elsewhere
    assert here.entries_meaning() == meaning
