"""The staged picker gives every move of the short list exactly once, and the table's move first."""

from __future__ import annotations

import random

import pytest

from tests.worker.search.playouts import positions
from worker.search.picker import EVASIONS, MAIN, PROBCUT, QUIESCENCE, next_move, start_picker
from worker.search.state import OFFSET, ThreadState
from worker.shogi import Position
from worker.shogi.attacks import update_checks
from worker.shogi.makemove import legal_moves
from worker.shogi.pieces import DROP_BIT, PAWN, PROMOTE_BIT


def picked(position: Position, state: ThreadState, kind: int, table_move: int, skip_quiets: int = 0) -> list[int]:
    th = state.record
    th.list_end[OFFSET - 1] = 0
    update_checks(position.record)
    start_picker(position.record, th, 0, kind, table_move)
    moves = []
    while move := int(next_move(position.record, th, 0, skip_quiets)):
        moves.append(move)
        assert len(moves) < 700
    return moves


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


def loud(position: Position, move: int) -> bool:
    """Whether a move captures or promotes a pawn."""
    promotes = bool(move & PROMOTE_BIT) and move >> 16 & 15 == PAWN
    return not move & DROP_BIT and (bool(position.piece_on(move & 127)) or promotes)


def checks(position: Position, move: int) -> bool:
    position.push(move)
    try:
        return position.in_check()
    finally:
        position.pop()


@pytest.mark.parametrize("kind", [QUIESCENCE, PROBCUT])
def test_lists_of_captures_and_pawn_promotions(kind: int) -> None:
    state = ThreadState()
    for position in positions(4, 150):
        if position.in_check():
            continue
        end = legal_moves(position.record, 0, 0)
        expected = {move for move in map(int, position.record.moves[:end]) if loud(position, move)}
        moves = picked(position, state, kind, 0, skip_quiets=1)
        assert len(moves) == len(set(moves))
        assert {move for move in moves if position.is_legal(move)} == expected


def test_quiescence_gives_quiet_checks_last() -> None:
    state = ThreadState()
    seen = 0
    for position in positions(9, 150):
        if position.in_check():
            continue
        moves = picked(position, state, QUIESCENCE, 0)
        assert len(moves) == len(set(moves))
        quiet = [move for move in position.legal_moves() if not loud(position, move) and checks(position, move)]
        seen += len(quiet)
        given = [move for move in moves if position.is_legal(move)]
        assert set(given[len(given) - len(quiet) :]) == set(quiet)
    assert seen > 100


def test_skipping_quiets_leaves_captures() -> None:
    state = ThreadState()
    for position in positions(6, 100):
        if position.in_check():
            continue
        th = state.record
        th.list_end[OFFSET - 1] = 0
        update_checks(position.record)
        start_picker(position.record, th, 0, MAIN, 0)
        while move := int(next_move(position.record, th, 0, 1)):
            promotes = move & 1 << 14 and move >> 16 & 15 == 1
            assert not move & 1 << 15 and (position.piece_on(move & 127) or promotes)
