"""The root learns as every node does, and has a table entry."""

from __future__ import annotations

import numpy as np

from lab.training import generation0
from tests.worker.search.tables import read
from worker.engine import Limits
from worker.nnue import Network
from worker.rules import Rules
from worker.score import INFINITE, MATE
from worker.search.engine import NumbaEngine
from worker.search.history import butterfly_address
from worker.search.root import search_root_in
from worker.search.thread import SearchThread, Task
from worker.search.tt import EXACT, LOWER, TranspositionTable, entry_bound, entry_depth, probe
from worker.shogi import STARTPOS, Position, move_to_usi


def test_moves_tried_in_vain_fall_and_the_root_is_stored() -> None:
    # A net that never changes. A move that was the best one for longer may have learned more.
    engine = NumbaEngine(hash_mb=16, network=Network(generation0.build()))
    engine.set_position(STARTPOS)
    result = engine.go(Limits(depth=9))
    th = engine._threads[0].record
    learned = {
        move_to_usi(move): int(read(butterfly_address(th, np.int64(move))))
        for move in Position.startpos().legal_moves()
    }
    assert learned[result.bestmove] in sorted(learned.values())[-2:]
    assert sum(value < 0 for value in learned.values()) > 10
    data = np.uint64(probe(th, Position.startpos().record.key))
    assert entry_bound(data) == EXACT
    assert entry_depth(data) >= 1


def test_a_first_move_that_fails_low_falls_when_another_takes_over() -> None:
    table = TranspositionTable(1)
    thread = SearchThread(Network(generation0.build()), table)
    thread.position = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    quiet, mate = (thread.position.parse_usi(text) for text in ("5i5h", "G*5b"))
    thread._prepare(Task([quiet, mate], multipv=1, depth=1, node_limit=None, deadline_ns=0, rules=Rules()))
    th, records = thread.fields, (thread.position.memory, thread._nnue.memory, thread.memory)
    th.root_depth[0] = 1
    score, begin = 2000, 0
    while begin < th.root_count[0]:
        score = int(search_root_in(*records, score, INFINITE, 1, 0, begin))
        begin = int(th.root_next[0])
    assert score == MATE - 1
    # The iteration began with it, and continues to compare the others with it.
    assert th.root_moves[0] == mate
    assert th.root_table_move[0] == quiet
    fallen, raised = (read(butterfly_address(thread.record, np.int64(move))) for move in (quiet, mate))
    assert fallen < 0 < raised


def test_only_the_best_lines_changes_are_counted() -> None:
    """They show the clock how settled the best move is: the second line's order says nothing about it."""
    changes = []
    for first in (0, 1):
        thread = SearchThread(Network(generation0.build()), TranspositionTable(1))
        thread.position = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
        before, quiet, mate = (thread.position.parse_usi(text) for text in ("5i4h", "5i5h", "G*5b"))
        moves = [before] * first + [quiet, mate]
        thread._prepare(Task(moves, multipv=1, depth=1, node_limit=None, deadline_ns=0, rules=Rules()))
        th, records = thread.fields, (thread.position.memory, thread._nnue.memory, thread.memory)
        th.root_depth[0] = 1
        score, begin = 2000, first
        while begin < th.root_count[0]:
            score = int(search_root_in(*records, score, INFINITE, 1, first, begin))
            begin = int(th.root_next[0])
        assert th.root_moves[first] == mate
        changes.append(thread.take_changes())
    assert changes == [1, 0]


def test_a_search_of_some_moves_says_nothing_of_the_others() -> None:
    """White's recaptures are left out: the loss of a bishop is true neither of the position nor of the move before."""
    engine = NumbaEngine(hash_mb=16, network=Network(generation0.build()))
    before = ("7g7f", "3c3d", "8h2b+")
    engine.set_position(STARTPOS, before)
    engine.go(Limits(depth=8, ignoremoves=("3a2b", "8b2b")))
    position = Position.startpos()
    position.push_all(before)
    data = np.uint64(probe(engine._threads[0].record, position.record.key))
    assert data == 0 or entry_bound(data) == LOWER
    engine.set_position(STARTPOS, before[:1])
    result = engine.go(Limits(depth=5, searchmoves=("9a9b", "3c3d")))
    engine.set_position(STARTPOS, before[:2])
    assert engine.go(Limits(depth=4, searchmoves=("8h2b+",))).lines[0].score < 300
    assert result.lines[0].score > -300
