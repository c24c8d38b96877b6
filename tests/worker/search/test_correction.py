"""Correction history: nothing learned changes nothing; a lesson moves the evaluation in its direction, within
bounds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from benchmarks.playouts import STARTS
from worker.score import MAX_EVAL
from worker.search import parameters as p
from worker.search.correction import corrected, correction_of, follow_keys, learn_correction, note_keys
from worker.search.state import CORRECTION_KEYS, CORRECTION_LIMIT, OFFSET, ThreadState, begin_search
from worker.shogi import Position
from worker.shogi.makemove import make_null, unmake_null
from worker.shogi.pieces import DROP_BIT

ROOT = np.int64(0)
_KEYS = (p.CORRECTION_PAWN + p.CORRECTION_MINOR + 2 * p.CORRECTION_PIECES) * CORRECTION_LIMIT
MOST = (_KEYS + p.CORRECTION_MOVES * p.CORRECTION_NO_MOVE) // p.CORRECTION_UNIT
"""Centipawns: four keys at their limit, and no move before."""


def fresh() -> ThreadState:
    state = ThreadState()
    begin_search(state.record)
    return state


def value(position: Position, state: ThreadState, static_eval: int) -> int:
    note_keys(position.record, state.record, ROOT)
    return int(corrected(np.int64(static_eval), correction_of(state.record, ROOT)))


def learn(position: Position, state: ThreadState, difference: int, times: int = 1) -> None:
    note_keys(position.record, state.record, ROOT)
    for _ in range(times):
        learn_correction(state.record, ROOT, np.int64(difference), np.int64(8), np.int64(p.CORRECTION_BONUS[0]))


def test_nothing_learned_changes_nothing() -> None:
    assert value(Position.startpos(), fresh(), 37) == 37


@pytest.mark.parametrize("sign", [1, -1])
def test_it_follows_the_search_and_stays_within_bounds(sign: int) -> None:
    position, state = Position.startpos(), fresh()
    learn(position, state, sign * 40)
    first = sign * value(position, state, 0)
    assert 0 < first < 40
    learn(position, state, sign * 30_000, times=500)
    assert first < sign * value(position, state, 0) <= MOST
    assert abs(value(position, state, sign * MAX_EVAL)) == MAX_EVAL


def test_it_is_shared_by_common_features_and_by_no_more() -> None:
    state = fresh()
    learn(Position.startpos(), state, 300, times=50)
    full = value(Position.startpos(), state, 0)
    # With another pawn structure the pieces' lesson stays, with another place of the rook the pawns' lesson.
    pawn_moved = Position.from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 1")
    rook_moved = Position.from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B4R2/LNSGKGSNL b - 1")
    assert 0 < value(pawn_moved, state, 0) < full
    assert 0 < value(rook_moved, state, 0) < full
    # The other side to move has its own table.
    white = Position.from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1")
    assert value(white, state, 0) == 0


def test_clearing_forgets_it() -> None:
    state = fresh()
    learn(Position.startpos(), state, 300, times=50)
    state.clear_histories()
    assert value(Position.startpos(), state, 0) == 0


def test_keys_followed_move_by_move_are_those_from_all_pieces() -> None:
    rng = random.Random(3)
    for start in STARTS:
        position, th, anew = Position.from_sfen(start), fresh().record, fresh().record
        note_keys(position.record, th, ROOT)
        for ply in range(1, 90):
            moves = position.legal_moves()
            if not moves:
                break
            if not position.in_check():
                follow_keys(position.record, th, ply, 0, 0)
                make_null(position.record)
                note_keys(position.record, anew, ply)
                assert places(th, ply) == places(anew, ply)
                unmake_null(position.record)
            move = rng.choice(moves)
            captured = 0 if move & DROP_BIT else position.piece_on(move & 127)
            follow_keys(position.record, th, ply, move, captured)
            position.push(move)
            note_keys(position.record, anew, ply)
            assert places(th, ply) == places(anew, ply)


def places(th: Any, ply: int) -> list[int]:
    """The places of a node's corrections and of its pawns' history in the tables."""
    at = OFFSET + ply
    addresses = [*th.corrections[at * CORRECTION_KEYS : (at + 1) * CORRECTION_KEYS], th.pawn_row[at]]
    return [int(address) - int(th.shared) for address in addresses]


def test_every_pawn_counts_in_the_rows_by_pawn_structure() -> None:
    state = fresh()
    rows = set()
    texts = ["", *(f"{file}g{file}f" for file in range(1, 10))]
    for text in texts:
        position = Position.startpos()
        if text:
            position.push(position.parse_usi(text))
        note_keys(position.record, state.record, ROOT)
        rows.add(int(state.record.pawn_row[OFFSET]))
    assert len(rows) >= len(texts) - 1, "two may meet by chance, not several"
