"""NumbaEngine under the rules that end a game without a mate: repetition, declarations, the move limit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worker.search.engines import MATE_IN_3, fresh
from worker.engine import Limits, SearchInfo
from worker.rules import EnteringKingRule, Rules
from worker.score import DRAW, MATE, MATE_BOUND, mate_in, mated_in
from worker.search.engine import NumbaEngine
from worker.search.node import REPETITION_WIN, beyond_limit
from worker.search.state import NEVER, ThreadState, begin_search
from worker.shogi import STARTPOS, Position


def test_only_the_fourth_time_of_a_game_position_is_a_draw(engine: NumbaEngine) -> None:
    """Before that the other side may turn away: a losing side would see draws that it does not get."""
    cycle = ("2h3h", "8b7b", "3h2h", "7b8b")
    engine.rules = Rules(draw_white=777)
    try:
        for rounds in range(3):
            history = (*cycle * rounds, *cycle[:3])
            result = fresh(engine, STARTPOS, history).go(Limits(depth=1, searchmoves=("7b8b",)))
            assert (result.lines[0].score == 777) == (rounds == 2), rounds
    finally:
        engine.rules = Rules()


@pytest.mark.parametrize("replies", [0, 1])
def test_the_fourth_time_is_seen_however_long_the_way_back(engine: NumbaEngine, replies: int) -> None:
    """Both kings walk around for nine moves: the last time is eighteen plies ago."""
    black = ("5e6e", "6e7e", "7e8e", "8e8f", "8f7g", "7g6g", "6g5g", "5g4f", "4f5e")
    white = ("5a6a", "6a7a", "7a8a", "8a8b", "8b7c", "7c6c", "6c5c", "5c4b", "4b5a")
    walk = tuple(move for pair in zip(black, white, strict=True) for move in pair)
    engine.rules = Rules(draw_black=-3000, draw_white=3000)
    try:
        for rounds in range(3):
            history = (*walk * rounds, *walk[: 17 - replies])
            only = walk[17 - replies]
            sfen = "4k4/9/9/9/4K4/9/9/9/9 b - 1"
            score = fresh(engine, sfen, history).go(Limits(depth=4, searchmoves=(only,))).lines[0].score
            assert (abs(score) == 3000) == (rounds == 2), (rounds, score)
    finally:
        engine.rules = Rules()


def test_repeating_by_checks_alone_loses(engine: NumbaEngine) -> None:
    """The rook's checks have driven the king to and fro; the next one brings back a position for the fourth time."""
    cycle = ("5a4a", "5h4h", "4a5a", "4h5h")
    chase = (*cycle * 2, *cycle[:3])
    sfen = "4k4/9/9/9/9/9/9/4R4/3K5 w - 1"
    checking = fresh(engine, sfen, chase).go(Limits(depth=6, searchmoves=("4h5h",)))
    assert checking.lines[0].score == 1 - REPETITION_WIN
    free = fresh(engine, sfen, chase).go(Limits(depth=6))
    assert free.bestmove != "4h5h"


HANDICAP = "4K4/9/9/9/9/9/pppppp3/9/2sgkgs2 w RB2G2S4N4L{}P{}p 1"
"""Without one rook and one bishop."""
DECLARABLE = "2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b RB 1"


@pytest.mark.parametrize(
    ("sfen", "rule", "expected"),
    [
        (DECLARABLE, EnteringKingRule.CSA_27, "win"),
        (DECLARABLE, EnteringKingRule.CSA_24, None),
        (DECLARABLE.replace(" RB ", " RB3P "), EnteringKingRule.CSA_24, "win"),
        (DECLARABLE, EnteringKingRule.NONE, None),
        (HANDICAP.format(5, 7), EnteringKingRule.CSA_27H, "win"),
        (HANDICAP.format(6, 6), EnteringKingRule.CSA_27H, None),
        (HANDICAP.format(5, 7), EnteringKingRule.CSA_27, None),
        ("9/5K3/9/9/9/9/9/9/4k4 b - 1", EnteringKingRule.TRY, "4b5a"),
        ("4g4/5K3/9/9/9/9/9/9/4k4 b - 1", EnteringKingRule.TRY, "4b5a"),
        ("3g5/5K3/9/9/9/9/9/9/4k4 b - 1", EnteringKingRule.TRY, None),
        ("4K4/9/9/9/9/9/9/3k5/9 w - 1", EnteringKingRule.TRY, "6h5i"),
    ],
)
def test_entering_kings(engine: NumbaEngine, sfen: str, rule: EnteringKingRule, expected: str | None) -> None:
    engine.rules = Rules(entering=rule)
    try:
        result = fresh(engine, sfen).go(Limits(depth=1))
    finally:
        engine.rules = Rules()
    if expected is None:
        assert result.nodes > 0
    else:
        assert (result.bestmove, result.nodes) == (expected, 0)


def test_the_move_limit_draws_and_a_draw_has_its_value(engine: NumbaEngine) -> None:
    ahead = "4k4/9/9/9/9/9/9/1B5R1/4K4 b 2G 99"
    try:
        engine.rules = Rules(max_moves=100)
        assert fresh(engine, ahead).go(Limits(depth=6)).lines[0].score == DRAW
        engine.rules = Rules(max_moves=100, draw_black=-200)
        assert fresh(engine, ahead).go(Limits(depth=6)).lines[0].score == -200
        engine.rules = Rules(max_moves=130, draw_black=-200)
        assert fresh(engine, ahead).go(Limits(depth=6)).lines[0].score > 500
        engine.rules = Rules(max_moves=100, draw_white=70)
        assert fresh(engine, ahead.replace(" b ", " w ")).go(Limits(depth=6)).lines[0].score == 70
    finally:
        engine.rules = Rules()


def test_a_mate_that_comes_with_the_last_move_is_none(engine: NumbaEngine) -> None:
    """It would be on the board with move 74, and is neither found nor taken from the table."""

    def scores(limit: int) -> list[int]:
        engine.rules, seen = Rules(max_moves=limit), list[SearchInfo]()
        engine.go(Limits(depth=8), seen.append)
        return [info.score for info in seen]

    try:
        assert fresh(engine, MATE_IN_3).go(Limits(depth=8)).lines[0].score == mate_in(3)
        engine.set_position(MATE_IN_3)  # the table knows the mate
        assert max(map(abs, scores(74))) < MATE_BOUND
        fresh(engine, MATE_IN_3)
        assert max(map(abs, scores(74))) < MATE_BOUND
        fresh(engine, MATE_IN_3)
        assert scores(75)[-1] == mate_in(3)
    finally:
        engine.rules = Rules()


def test_the_opponents_declaration_is_seen_in_the_tree(engine: NumbaEngine) -> None:
    line = fresh(engine, DECLARABLE.replace(" b ", " w ")).go(Limits(depth=3)).lines[0]
    assert line.score == mated_in(2)


@pytest.mark.parametrize(("ply", "root"), [(0, 2), (2, 0)])
@pytest.mark.parametrize(("limit", "distance"), [(8, 3), (6, 5), (5, 5), (4, 3), (NEVER, 99)])
def test_a_mate_of_the_table_counts_only_within_the_move_limit(ply: int, root: int, limit: int, distance: int) -> None:
    """It may have been found with more plies left. ``distance``: plies from the root, which ``root`` plies led to."""
    state, position = ThreadState(), Position.startpos()
    begin_search(state.record)
    position.push_all(["7g7f", "3c3d"])
    state.fields.draw_ply[0] = limit
    for score in (MATE - distance, distance - MATE):
        found = beyond_limit(position.record, state.record, np.int64(ply), np.int64(score))
        assert bool(found) == (root + distance >= limit)
    assert not beyond_limit(position.record, state.record, np.int64(ply), np.int64(500))


def test_rules_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="max_moves is -1"):
        Rules(max_moves=-1)
    with pytest.raises(ValueError, match="draw_black"):
        Rules(draw_black=40_000)
