"""Entries that an engine gives to others, and those of others that it can use. `test_outbox` has the table's side."""

from __future__ import annotations

import numpy as np
import pytest

from lab.training import generation0
from worker.engine import Limits, SharesTable
from worker.nnue import Network, default_network, portable
from worker.nnue.kernels import kernels
from worker.nnue.network import default_file
from worker.rules import EnteringKingRule, Rules
from worker.search.engine import NumbaEngine
from worker.search.tt import entry_bound, entry_depth
from worker.shogi import STARTPOS


def search(engine: NumbaEngine, depth: int) -> int:
    engine.set_position(STARTPOS)
    return engine.go(Limits(depth=depth)).nodes


def test_a_search_hands_out_what_is_deep_enough() -> None:
    engine = NumbaEngine(hash_mb=16, network=Network(generation0.build()))
    assert isinstance(engine, SharesTable)
    search(engine, 6)
    assert len(engine.take_entries()) == 0
    engine.share(3)
    search(engine, 9)
    entries = engine.take_entries()
    assert len(entries) > 20
    assert len(np.unique(entries[:, 0])) >= 0.95 * len(entries), "what was written again soon goes once"
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
    assert engine.entries_meaning() == meaning, "a search brings these with it, to every node the same"
    engine.rules = Rules(entering=EnteringKingRule.TRY)
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
