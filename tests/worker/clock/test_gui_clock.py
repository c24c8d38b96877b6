"""Lessons from the times of the GUI's ``go`` lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from worker.clock.gui_clock import Answered, Asked, Charges, LastScore
from worker.shogi import STARTPOS

FIRST = Asked(STARTPOS, ("7g7f", "3c3d"), 60_000, 0, 0)
NEXT = replace(FIRST, moves=("7g7f", "3c3d", "2g2f", "8c8d"))
START_MS = 100


def worst_after(thought_ms: float, first: Asked, second: Asked) -> float:
    """The worst delay that is assumed after one move."""
    charges = Charges()
    delays = charges.delays(START_MS)
    charges.asked(first)
    charges.answered(Answered(thought_ms, 0, 0))
    charges.asked(second)
    assert charges.delays(START_MS) is delays
    return delays.worst_ms / 1.4 if delays.worst_ms > START_MS else 0


@pytest.mark.parametrize(
    ("first", "left_ms", "thought_ms", "expected"),
    [
        (FIRST, 56_750, 2_500, 750),  # counted in milliseconds
        (FIRST, 57_500, 2_700, 0),  # charged less than it took
        (FIRST, 56_000, 3_000, 1_000),  # whole seconds: 4 to 5 s were charged
        (FIRST, 57_000, 3_200, 0),  # 3 to 4 s: nothing is sure
        (replace(FIRST, increment_ms=2_000), 57_250, 2_500, 2_250),
        (replace(FIRST, byoyomi_ms=5_000), 0, 57_000, 3_000),  # at least 60 s
        (replace(FIRST, left_ms=0, byoyomi_ms=5_000), 0, 1_000, 0),  # byoyomi gives no information
        (FIRST, 60_001, 1_000, 0),  # somebody has set the clock
        (FIRST, 20_000, 1_000, 0),
    ],
)
def test_the_charge_of_a_move_beyond_its_thinking(
    first: Asked, left_ms: int, thought_ms: float, expected: float
) -> None:
    assert worst_after(thought_ms, first, replace(NEXT, left_ms=left_ms)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "second",
    [replace(NEXT, moves=NEXT.moves[:3]), replace(NEXT, moves=("2g2f",) * 4), replace(NEXT, sfen="other")],
)
def test_another_game_tells_nothing_of_this_one(second: Asked) -> None:
    assert worst_after(1000, FIRST, replace(second, left_ms=50_000)) == 0


@pytest.mark.parametrize("moves", [(), ("7g7f",)])
def test_the_first_move_of_the_next_game_tells_nothing_of_this_one(moves: tuple[str, ...]) -> None:
    first = Asked(STARTPOS, (), 300_000, 10_000, 0)
    assert worst_after(1000, first, replace(first, moves=moves)) == 0


def test_a_move_that_was_not_answered_tells_nothing() -> None:
    charges = Charges()
    delays = charges.delays(START_MS)
    charges.asked(FIRST)
    charges.asked(replace(NEXT, left_ms=50_000))
    assert delays.worst_ms == START_MS


def test_another_start_value_begins_anew() -> None:
    charges = Charges()
    assert charges.delays(100) is charges.delays(100)
    assert charges.delays(100) is not charges.delays(200)


LAST = LastScore(STARTPOS, ("7g7f",), 80)


def test_the_next_moves_of_the_game_know_it() -> None:
    assert LAST.at(STARTPOS, ("7g7f", "3c3d", "2g2f")) == 80
    assert LAST.at(STARTPOS, ("7g7f", "3c3d")) == -80  # the other side is to move


def test_another_game_knows_nothing() -> None:
    assert LAST.at("other", ("7g7f", "3c3d", "2g2f")) is None
    assert LAST.at(STARTPOS, ("2g2f", "3c3d", "7g7f")) is None
    assert LAST.at(STARTPOS, ("7g7f",)) is None
    assert LAST.at(STARTPOS, ()) is None
    assert LAST.at(STARTPOS, ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e")) is None
    assert LastScore().at(STARTPOS, ("7g7f",)) is None
