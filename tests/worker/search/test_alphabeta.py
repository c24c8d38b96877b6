"""One node of the tree at a time: its kind, and table entries that come from no search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from lab.training import generation0
from worker.engine import Limits
from worker.nnue import Network
from worker.score import MATE, NO_SCORE
from worker.search.alphabeta import search
from worker.search.engine import NumbaEngine
from worker.search.late_moves import is_worth_a_ply
from worker.search.node import ALL, CUT, PV, do_move, enter_node
from worker.search.quiescence import quiescence
from worker.search.thread import SearchThread
from worker.search.tt import EXACT, LOWER, UNSEARCHED, entry_is_pv, probe, store
from worker.shogi import STARTPOS


@pytest.fixture
def thread() -> Iterator[SearchThread]:
    """A thread at search ply 1, whose table is empty."""
    engine = NumbaEngine(1, network=Network(generation0.build()))
    engine.set_position(STARTPOS)
    engine.go(Limits(depth=1))
    engine.new_game()
    thread = engine._threads[0]
    move = thread.position.parse_usi("7g7f")
    do_move(thread.position.record, thread.record, np.int64(0), np.int64(move), True)
    yield thread
    engine.close()


@pytest.mark.parametrize(("kind", "line"), [(ALL, False), (CUT, False), (PV, True)])
def test_a_node_of_the_line_stays_one_in_a_window_of_nothing(thread: SearchThread, kind: int, line: bool) -> None:
    position, nnue, th = thread.position.record, thread._nnue.record, thread.record
    score = search(position, nnue, th, np.int64(1), np.int64(-3000), np.int64(-2999), np.int64(3), np.int64(kind))
    assert score >= -2999
    assert bool(entry_is_pv(np.uint64(probe(th, position.key)))) is line


def test_an_entry_without_a_search_is_weighed_against_every_window_anew(thread: SearchThread) -> None:
    position, nnue, th = thread.position.record, thread._nnue.record, thread.record
    one, nothing = np.int64(1), np.int64(0)
    enter_node(position, th, one)
    store(th, position.key, one, nothing, np.int64(400), nothing, np.int64(UNSEARCHED), np.int64(LOWER), nothing)
    assert quiescence(position, nnue, th, one, np.int64(99), np.int64(100), False) == 250
    assert quiescence(position, nnue, th, one, np.int64(299), np.int64(300), False) == 350
    store(th, position.key, one, nothing, np.int64(400), nothing, nothing, np.int64(LOWER), nothing)
    assert quiescence(position, nnue, th, one, np.int64(99), np.int64(100), False) == 400


@pytest.mark.parametrize(
    ("score", "depth", "worth"),
    [(NO_SCORE, UNSEARCHED, False), (50, 1, False), (50, 2, True), (MATE - 9, 0, False), (9 - MATE, 1, True)],
)
def test_a_table_move_of_a_line_gets_a_ply(score: int, depth: int, worth: bool) -> None:
    assert bool(is_worth_a_ply(np.int64(score), np.int64(depth))) is worth


@pytest.mark.parametrize(("beyond", "trusted"), [(None, True), (-350, True), (250, False)])
def test_a_deep_cut_off_by_the_table_needs_the_entry_after_its_move(
    thread: SearchThread, beyond: int | None, trusted: bool
) -> None:
    """``beyond``: the score of that entry, from the other side."""
    position, nnue, th = thread.position, thread._nnue.record, thread.record
    one, deep, zero = np.int64(1), np.int64(12), np.int64(0)
    move = position.parse_usi("3c3d")
    enter_node(position.record, th, one)
    store(th, position.record.key, one, np.int64(move), np.int64(400), zero, deep, np.int64(LOWER), zero)
    if beyond is not None:
        position.push(move)
        store(th, position.record.key, np.int64(2), zero, np.int64(beyond), zero, deep, np.int64(EXACT), zero)
        position.pop()

    def nodes_at(depth: int) -> int:
        before = int(th.nodes)
        search(position.record, nnue, th, one, np.int64(99), np.int64(100), np.int64(depth), np.int64(CUT))
        return int(th.nodes) - before

    assert nodes_at(6) == 0
    assert (nodes_at(7) == 0) is trusted
