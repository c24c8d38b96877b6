"""The trapezoid."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.clock import ClockSettings, Delays
from worker.clock.plan import Holding, most_moves, moves_to_limit, share
from worker.clock.timecontrol import TimeControl
from worker.score import MATE


def spent(plies: range, max_moves: int | None = None) -> list[float]:
    """The part of the main time that each own move gets, if each gets just its share."""
    left, parts = 1.0, []
    for ply in plies:
        parts.append(left * share(ply, max_moves))
        left -= parts[-1]
    return parts


def test_it_is_a_trapezoid() -> None:
    parts = spent(range(0, 120, 2))
    opening, rise, plateau, fall = parts[:4], parts[4:17], parts[17:35], parts[36:]
    assert max(opening) - min(opening) < 1e-9
    assert all(before < after for before, after in itertools.pairwise(rise))
    assert max(plateau) - min(plateau) < 1e-9
    assert all(before > after for before, after in itertools.pairwise(fall))
    assert 1.9 < plateau[0] / opening[0] < 2.1


def test_most_of_it_is_gone_when_most_games_end() -> None:
    assert 0.6 < sum(spent(range(0, 80, 2))) < 0.8
    assert 0.94 < sum(spent(range(0, 120, 2))) < 0.99


@given(st.integers(0, 600), st.none() | st.integers(1, 600), st.none() | st.integers(-MATE, MATE))
def test_a_share_is_a_share(ply: int, max_moves: int | None, score: int | None) -> None:
    assert 0 < share(ply, max_moves, score) <= 1


@pytest.mark.parametrize("max_moves", [20, 100, 256, 257, 320])
@pytest.mark.parametrize("first", [0, 1])
def test_nothing_is_left_at_the_move_limit(max_moves: int, first: int) -> None:
    parts = spent(range(first, max_moves, 2), max_moves)
    assert sum(parts) == pytest.approx(1.0)
    assert share(max_moves - 1, max_moves) == share(max_moves - 2, max_moves) == 1.0
    assert share(max_moves - 3, max_moves) < 1.0


def test_moves_to_the_limit() -> None:
    assert [moves_to_limit(ply, 256) for ply in (0, 1, 253, 254, 255, 300)] == [128, 128, 2, 1, 1, 1]
    assert moves_to_limit(5, None) is None
    assert most_moves(100, 256) == 78
    assert most_moves(100, None) == 100


SETTINGS = ClockSettings()
SUDDEN_DEATH = TimeControl(total_ms=900_000)


def holding(control: TimeControl, *delays_ms: float, ply: int = 0, max_moves: int | None = 256) -> Holding:
    delays = Delays(SETTINGS.network_margin_ms)
    for delay_ms in delays_ms:
        delays.add(delay_ms)
    return Holding.of(control, delays, SETTINGS, ply, max_moves)


@pytest.mark.parametrize(
    "control",
    [TimeControl(60_000, 10_000), TimeControl(60_000, 0, 5_000), TimeControl(), TimeControl(10_000, 0, 1_000)],
)
def test_nothing_is_due_if_the_increment_pays(control: TimeControl) -> None:
    held = holding(control)
    assert (held.cost_ms, held.due_ms) == (None, 0.0)


def test_a_unit_is_due_for_each_move_up_to_the_limit_and_one_to_stay_alive() -> None:
    rounded_up = TimeControl(total_ms=900_000, roundup=True)
    held = holding(rounded_up)
    assert (held.cost_ms, held.due_ms, held.wanted_ms) == (1_000, 128_000, 129_000)
    assert holding(rounded_up, max_moves=None).due_ms == 100_000


def test_a_line_that_may_take_a_second_costs_it_now_and_then() -> None:
    assert holding(SUDDEN_DEATH, *[200.0] * 40).due_ms == 1_000
    once = holding(SUDDEN_DEATH, *[200.0] * 40, 800.0)  # 1120 is possible
    often = holding(SUDDEN_DEATH, *[200.0, 1_000.0] * 20)
    assert once.cost_ms == pytest.approx(1000 / 42)
    assert 127 * 1000 / 42 < once.due_ms < 15_000
    assert often.cost_ms == pytest.approx(1000 * 21 / 41)
    assert often.due_ms > 127 * 1000 / 2


def test_the_reserve_is_spent_before_the_move_limit() -> None:
    kept = [holding(SUDDEN_DEATH, ply=ply).kept_ms for ply in (0, 200, 250, 254)]
    assert kept == [2_500, 2_500, 1_000, 0]
