"""Learning of ordering and reductions: the right moves rise, the others fall, and small numbers stay small."""

from __future__ import annotations

import numpy as np

from tests.worker.search.tables import read
from worker.search import parameters as p
from worker.search.correction import note_keys
from worker.search.history import (
    butterfly_address,
    learn,
    learn_best,
    learn_prior,
    learn_quiet,
    slot_of,
)
from worker.search.state import BUTTERFLY_LIMIT, OFFSET, ThreadState, begin_search
from worker.shogi import Position


def test_histories_stay_within_their_limit_and_come_back() -> None:
    state = ThreadState()
    th = state.record
    address = butterfly_address(th, Position.startpos().parse_usi("7g7f"))
    for _ in range(200):
        learn(address, np.int64(5000), np.int64(BUTTERFLY_LIMIT))
    assert 0.9 * BUTTERFLY_LIMIT < read(address) <= BUTTERFLY_LIMIT
    for _ in range(200):
        learn(address, np.int64(-5000), np.int64(BUTTERFLY_LIMIT))
    assert -BUTTERFLY_LIMIT <= read(address) < -0.9 * BUTTERFLY_LIMIT


def test_a_promotion_learns_apart_from_the_same_move_without_it() -> None:
    state = ThreadState()
    th = state.record
    position = Position.from_sfen("4k4/9/9/4S4/9/9/9/9/4K4 b - 1")
    plain, promoting = position.parse_usi("5d5c"), position.parse_usi("5d5c+")
    assert butterfly_address(th, plain) != butterfly_address(th, promoting)
    assert slot_of(plain) != slot_of(promoting)


def test_a_quiet_move_is_learned_after_the_moves_before_it() -> None:
    state = ThreadState()
    begin_search(state.record)
    th = state.record
    position = Position.startpos()
    move = position.parse_usi("7g7f")
    at = OFFSET + 3
    th.slot[at - 1] = 500
    th.row[at - 1] = th.row[at - 1] + 500 * 2592 * 2
    th.pawn_row[at] = th.row[at - 1]  # any row that does not matter here
    row = int(th.row[at - 1])
    before = read(row + 2 * slot_of(move))
    none = read(int(th.row[at - 2]) + 2 * slot_of(move))
    learn_quiet(th, np.int64(3), move, np.int64(1000))
    assert read(butterfly_address(th, move)) == 1000
    assert read(row + 2 * slot_of(move)) > before + 500
    assert read(int(th.row[at - 2]) + 2 * slot_of(move)) == none, "nothing is learned after no move"


def test_a_move_that_left_nothing_is_learned_after_the_one_before_even_without_a_bonus() -> None:
    state = ThreadState()
    begin_search(state.record)
    th = state.record
    position = Position.startpos()
    move = position.parse_usi("7g7f")
    position.push(move)
    at = OFFSET + 2
    th.slot[at - 2] = 500
    row = int(th.row[at - 2])
    th.stat_score[at - 1] = 20_000  # so good before that nothing counts for it now
    th.checked[at - 1] = th.checked[at] = 1
    note_keys(position.record, th, np.int64(2))
    before = read(row + 2 * slot_of(move))
    learn_prior(position.record, th, np.int64(2), np.int64(0), np.int64(1))
    assert read(butterfly_address(th, move)) == 0
    assert read(row + 2 * slot_of(move)) > before + p.CONTINUATION_FIRST // 2


def test_the_best_of_many_moves_learns_more_off_the_line() -> None:
    def lesson(*, is_pv: bool, tried: int) -> int:
        state = ThreadState()
        begin_search(state.record)
        th, position = state.record, Position.startpos()
        note_keys(position.record, th, np.int64(0))
        moves = [int(move) for move in position.legal_moves()]
        best, others = moves[0], moves[1 : 1 + tried]
        tried_at = OFFSET * 2 * (len(th.tried) // len(th.slot) // 2)
        for i, move in enumerate(others):
            th.tried[tried_at + i] = move
        zero = np.int64(0)
        learn_best(position.record, th, zero, is_pv, np.int64(best), zero, np.int64(5), np.int64(tried), zero)
        assert all(read(butterfly_address(th, np.int64(move))) < 0 for move in others)
        return int(read(butterfly_address(th, np.int64(best))))

    assert lesson(is_pv=False, tried=16) > lesson(is_pv=False, tried=2) > 0
    assert lesson(is_pv=True, tried=16) == lesson(is_pv=True, tried=2)
