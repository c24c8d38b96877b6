"""The part of the main time that no plan spends."""

from __future__ import annotations

import pytest

from worker.clock import ClockSettings, Delays
from worker.clock.holding import Holding
from worker.clock.timecontrol import TimeControl

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
def test_nothing_is_due_where_what_comes_anew_pays(control: TimeControl) -> None:
    held = holding(control)
    assert (held.cost_ms, held.due_ms) == (None, 0.0)


def test_a_unit_is_due_for_each_move_up_to_the_limit_and_one_to_stay_alive() -> None:
    rounded_up = TimeControl(total_ms=900_000, roundup=True)
    held = holding(rounded_up)
    assert (held.cost_ms, held.due_ms, held.wanted_ms) == (1_000, 128_000, 129_000)
    assert holding(rounded_up, max_moves=None).due_ms == 100_000


def test_a_line_that_may_take_a_second_costs_it_now_and_then() -> None:
    assert holding(SUDDEN_DEATH, *[200.0] * 40).due_ms == 1_000
    once = holding(SUDDEN_DEATH, *[200.0] * 40, 800.0)  # 1120 may come of it
    often = holding(SUDDEN_DEATH, *[200.0, 1_000.0] * 20)
    assert once.cost_ms == pytest.approx(1000 / 42)
    assert 127 * 1000 / 42 < once.due_ms < 15_000
    assert often.cost_ms == pytest.approx(1000 * 21 / 41)
    assert often.due_ms > 127 * 1000 / 2


def test_what_is_for_accidents_is_spent_before_the_move_limit() -> None:
    kept = [holding(SUDDEN_DEATH, ply=ply).kept_ms for ply in (0, 200, 250, 254)]
    assert kept == [2_500, 2_500, 1_000, 0]
