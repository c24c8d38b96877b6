"""Entries that an engine gives to others, and others' entries that it can use. `test_outbox` has the table's side."""

from __future__ import annotations

import numpy as np
import pytest

from lab.training import generation0
from worker.engine import MOVES_MEANING, Limits, SharesTable
from worker.nnue import Network, default_network, portable
from worker.nnue.kernels import kernels
from worker.nnue.network import default_file
from worker.rules import EnteringKingRule, Rules
from worker.score import NO_SCORE
from worker.search.engine import NumbaEngine
from worker.search.meaning import network_digest
from worker.search.tt import UNSEARCHED, entry_bound, entry_depth, entry_eval, entry_score, probe
from worker.shogi import STARTPOS


def search(engine: NumbaEngine, depth: int) -> int:
    engine.set_position(STARTPOS)
    return engine.go(Limits(depth=depth)).nodes


def test_a_search_hands_out_deep_entries() -> None:
    engine = NumbaEngine(hash_mb=16, network=Network(generation0.build()))
    assert isinstance(engine, SharesTable)
    search(engine, 6)
    assert len(engine.take_entries()) == 0
    engine.share(3)
    search(engine, 9)
    entries = engine.take_entries()
    assert len(entries) > 20
    assert len(np.unique(entries[:, 0])) >= 0.95 * len(entries), "an entry written again soon goes out once"
    assert min(int(entry_depth(word)) for word in entries[:, 1]) == 3
    assert all(entry_bound(word) for word in entries[:, 1])
    assert len(engine.take_entries()) == 0
    engine.share(None)
    search(engine, 9)
    assert len(engine.take_entries()) == 0


def test_the_meaning_is_that_of_the_network_and_the_rules() -> None:
    engine = NumbaEngine(hash_mb=1)
    meaning = engine.entries_meaning()
    assert len(bytes.fromhex(meaning)) == 16
    assert NumbaEngine(hash_mb=2, threads=2).entries_meaning() == meaning
    file = str(default_file())
    assert NumbaEngine(hash_mb=1, eval_file=file).entries_meaning() == meaning
    assert NumbaEngine(hash_mb=1, eval_file=file, fv_scale=17).entries_meaning() != meaning
    engine.rules = Rules(max_moves=256, draw_black=-100)
    assert engine.entries_meaning() == meaning, "a search brings these with it, the same to every node"
    engine.rules = Rules(entering=EnteringKingRule.TRY)
    assert engine.entries_meaning() != meaning
    scaled = NumbaEngine(hash_mb=1, eval_file=file, fv_scale=17)
    assert scaled.entries_meaning()[:MOVES_MEANING] == meaning[:MOVES_MEANING], "its moves can be used"
    other = NumbaEngine(hash_mb=1)
    other._network.layers[0][0][0] += 1
    assert other.entries_meaning() != meaning


def test_the_meaning_does_not_depend_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    here = default_network()
    monkeypatch.setattr(kernels, "arrange_layer", portable.arrange_layer)
    elsewhere = default_network()
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(here.layers, elsewhere.layers, strict=True))
    assert network_digest(here) == network_digest(elsewhere)


def test_of_another_network_only_moves_enter_the_table() -> None:
    """No score, no evaluation, no bound; the search's own entries stay unchanged."""
    ours, theirs = NumbaEngine(hash_mb=4), NumbaEngine(hash_mb=4, fv_scale=40)
    table = ours._threads[0].record
    for engine, depth in ((ours, 5), (theirs, 8)):
        engine.share(1)
        search(engine, depth)
    entries = theirs.take_entries()
    own = {int(key): probe(table, key) for key in ours.take_entries()[:, 0]}
    before = {int(key): probe(table, key) for key in entries[:, 0]}
    used = ours.absorb_moves(entries)
    assert used > 20
    moves: dict[int, set[int]] = {}
    for key, word in entries:
        moves.setdefault(int(key), set()).add(int(word) & 0xFFFF)
    found = [(key, word) for key in moves if before[key] == 0 and (word := probe(table, np.uint64(key))) != 0]
    assert len(found) >= 0.9 * used
    for key, word in found:
        assert int(word) & 0xFFFF in moves[key] - {0}
        facts = entry_bound(word), entry_depth(word), entry_eval(word), entry_score(word, 0)
        assert facts[:3] == (0, UNSEARCHED, NO_SCORE)
    same = [probe(table, np.uint64(key)) == word for key, word in own.items()]
    assert np.mean(same) > 0.95, "but those for which a full cluster had no room"
    assert search(ours, 6) > 0
