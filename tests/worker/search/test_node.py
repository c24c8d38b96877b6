"""The same board with another hand: the side with less has lost something on the way back."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.playouts import positions
from tests.worker.search.tables import thread_on
from worker.score import NO_SCORE
from worker.search.node import REPETITION_WIN, checks_by, do_move, enter_node, game_end_score, note_checks
from worker.search.state import NEVER, ThreadState, begin_search
from worker.search.tt import TranspositionTable
from worker.shogi import Position
from worker.shogi.attacks import update_unchecked
from worker.shogi.state import POS_DTYPE

CYCLE = ("P*5e", "5d5e", "5i5h", "5e5d", "5h4i", "5a5b", "4i5i", "5b5a")
"""Black gives a pawn, and both return to their squares: black by three moves of the king, white by two twice."""


def walk(sfen: str, first: int, moves: tuple[str, ...]) -> tuple[Position, ThreadState]:
    """Play ``moves`` in the tree, the position before them at search ply ``first``."""
    position, state = Position.from_sfen(sfen), thread_on(TranspositionTable(1))
    begin_search(state.record)
    state.record.checks[:] = 1
    state.record.draw_ply = NEVER
    for ply, text in enumerate(moves, start=first):
        enter_node(position.record, state.record, np.int64(ply))
        do_move(position.record, state.record, np.int64(ply), np.int64(position.parse_usi(text)), True)
    enter_node(position.record, state.record, np.int64(first + len(moves)))
    return position, state


@pytest.mark.parametrize(
    ("moves", "sign"),
    [(CYCLE, -1), ((*CYCLE, "5i6i"), 0), (("5i5h", "5a5b", "5h4i", "5b5a", "4i5i", "5a5b", "5i5h", "5b5a"), 0)],
)
def test_a_board_that_comes_back_with_less_in_hand_is_lost(moves: tuple[str, ...], sign: int) -> None:
    position, state = walk("4k4/9/9/4g4/9/9/9/9/4K4 b 2P 1", 1, moves)
    ply = 1 + len(moves)
    score = int(game_end_score(position.record, state.record, np.int64(ply)))
    assert score == (sign * (REPETITION_WIN - ply) if sign else NO_SCORE)


def test_with_more_in_hand_it_is_won() -> None:
    """From white's view, who has the pawn: one ply on, the board is as it was after black's first move of the king."""
    moves = ("5i4i", "5a5b", "P*5e", "5d5e", "4i5h", "5e5d", "5h5i", "5b5a", "5i4i")
    position, state = walk("4k4/9/9/4g4/9/9/9/9/4K4 b 2P 1", 1, moves)
    score = int(game_end_score(position.record, state.record, np.int64(10)))
    assert score == REPETITION_WIN - 10


def test_a_board_that_stood_at_the_root_or_before_does_not_count() -> None:
    position, state = walk("4k4/9/9/4g4/9/9/9/9/4K4 b 2P 1", 0, CYCLE)
    assert int(game_end_score(position.record, state.record, np.int64(8))) == NO_SCORE


def test_one_repeat_within_the_tree_is_a_draw() -> None:
    moves = ("5i5h", "5a5b", "5h5i", "5b5a")
    for first, drawn in ((0, False), (1, True)):
        position, state = walk("4k4/9/9/4g4/9/9/9/9/4K4 b 2P 1", first, moves)
        state.record.draw_value[:] = (33, -33)
        score = int(game_end_score(position.record, state.record, np.int64(first + 4)))
        assert score == (33 if drawn else NO_SCORE)


def test_every_check_is_known_before_the_move() -> None:
    th = ThreadState().record
    checking = plain = 0
    for ply, position in enumerate(positions(11, 400)):
        note_checks(position.record, th, ply % 100)
        for move in position.legal_moves():
            known = bool(checks_by(position.record, th, ply % 100, move))
            position.push(move)
            assert position.in_check() == known, (position.sfen(), move)
            position.pop()
            checking, plain = checking + known, plain + (not known)
    assert checking > 500 and plain > 5000


def test_without_a_check_the_stacks_are_the_same() -> None:
    stacks = [name for name in POS_DTYPE.names or () if name.startswith("st_")]
    seen = 0
    for position in positions(12, 200):
        if not position.in_check():
            expected = {name: np.array(position.record[name]) for name in stacks}
            ply = int(position.record.ply)
            for name in ("st_checkers", "st_pinned", "st_run"):
                position.record[name][2 * ply : 2 * ply + 2] = 77
            update_unchecked(position.record)
            assert all((position.record[name] == expected[name]).all() for name in stacks)
            seen += 1
    assert seen > 100
