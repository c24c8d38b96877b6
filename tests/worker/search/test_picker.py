"""The staged picker gives every move of the short list exactly once, and the table's move first."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.playouts import positions
from tests.worker.search.picking import picked
from worker.search.picker import (
    EVASIONS,
    MAIN,
    PROBCUT,
    QUIESCENCE,
    bring_next,
    gather_promising,
    next_move,
    start_picker,
)
from worker.search.state import OFFSET, ThreadState
from worker.shogi import Position
from worker.shogi.attacks import update_checks
from worker.shogi.makemove import legal_moves
from worker.shogi.movegen import generate_quiets
from worker.shogi.pieces import DROP_BIT


def test_every_move_once_and_the_table_move_first() -> None:
    rng = random.Random(2)
    state = ThreadState()
    for position in positions(3, 400):
        end = legal_moves(position.record, 0, 0)
        short = {int(move) for move in position.record.moves[:end]}
        # The table may also hold a declined promotion, which the lists leave out.
        table_move = rng.choice([0, *position.legal_moves()])
        moves = picked(position, state, EVASIONS if position.in_check() else MAIN, table_move)
        assert len(moves) == len(set(moves))
        legal = {move for move in moves if position.is_legal(move)}
        assert legal == short | ({table_move} - {0})
        if table_move:
            assert moves[0] == table_move


def test_every_legal_move_where_that_is_asked_for() -> None:
    state = ThreadState()
    state.record.every_move = 1
    for position in positions(8, 150):
        moves = picked(position, state, EVASIONS if position.in_check() else MAIN, 0)
        assert len(moves) == len(set(moves))
        assert {move for move in moves if position.is_legal(move)} == set(position.legal_moves())


def test_what_was_never_tried_comes_in_the_generators_order() -> None:
    position = Position.startpos()
    moves = picked(position, ThreadState(), MAIN, 0)
    end = generate_quiets(position.record, 0, 0)
    assert moves == [int(move) for move in position.record.moves[:end]]


def captures(position: Position, move: int) -> bool:
    return not move & DROP_BIT and bool(position.piece_on(move & 127))


@pytest.mark.parametrize("kind", [QUIESCENCE, PROBCUT])
def test_lists_of_captures(kind: int) -> None:
    state = ThreadState()
    for position in positions(4, 150):
        if position.in_check():
            continue
        end = legal_moves(position.record, 0, 0)
        expected = {move for move in map(int, position.record.moves[:end]) if captures(position, move)}
        moves = picked(position, state, kind, 0)
        assert len(moves) == len(set(moves))
        assert {move for move in moves if position.is_legal(move)} == expected


def test_skipping_quiets_leaves_captures() -> None:
    state = ThreadState()
    for position in positions(6, 100):
        if position.in_check():
            continue
        th = state.record
        th.list_end[OFFSET - 1] = 0
        update_checks(position.record)
        start_picker(position.record, th, 0, MAIN, 0)
        moves = []
        while move := int(next_move(position.record, th, 0, 8, 1)):
            moves.append(move)
        legal = {move for move in position.legal_moves(every=False) if captures(position, move)}
        assert {move for move in moves if position.is_legal(move)} == legal
        assert all(captures(position, move) for move in moves)


def entries(record: Any, at: int, end: int) -> list[tuple[int, int]]:
    """Score and move of list entries."""
    return [(int(entry) >> 32, int(entry) & (1 << 21) - 1) for entry in record.moves[at:end]]


def test_quiet_moves_come_by_score_and_where_that_is_equal_as_they_stand() -> None:
    rng = random.Random(9)
    record = Position.startpos().record
    for _ in range(300):
        # Five captures stand before them in the list.
        scores = [rng.randint(-4, 4) for _ in range(rng.randint(1, 90))]
        at, end = 45 + 5, 45 + 5 + len(scores)
        record.moves[at:end] = [score << 32 | (2047 - 5 - i) << 21 | i for i, score in enumerate(scores)]
        promising = int(gather_promising(record, 45, at, end, -2))
        wanted = [(score, i) for i, score in enumerate(scores) if score >= -2]
        assert entries(record, at, promising) == wanted
        assert sorted(entries(record, at, end)) == sorted((score, i) for i, score in enumerate(scores))
        for i in range(len(wanted)):
            best = max(range(i, len(wanted)), key=lambda place: wanted[place][0])
            wanted[i], wanted[best] = wanted[best], wanted[i]
            assert bring_next(record, 45, at + i, promising) == wanted[i][1]
            assert entries(record, at, promising) == wanted
