"""The clock's measurements of the line, and of its own delays."""

from __future__ import annotations

import random

import pytest

from worker.clock import ClockSettings, Delays, GameClock, Outlook
from worker.clock.timecontrol import TimeControl

SETTINGS = ClockSettings()
FLOODGATE = TimeControl(total_ms=300_000, increment_ms=10_000)


def exchange(clock: GameClock, thought: float, down: float, up: float, echo: float) -> None:
    """A move of ours that took ``thought`` ms here, over a line with these delays; the opponent moves at once."""
    began = clock.turn_began_ms
    clock.sent(began + thought)
    clock.moved(clock.controls[0].charge(down + thought + up), began + thought + up + echo)
    clock.moved(0, began + thought + up + echo)


def test_a_fast_line_does_not_lower_it() -> None:
    delays = Delays(300)
    for _ in range(100):
        delays.add(2.0)
    assert (delays.usual_ms, delays.worst_ms) == (300, 300)


def test_the_middle_is_the_median_of_the_moves() -> None:
    delays = Delays(300)
    assert delays.middle_ms == 150
    for number in range(40):
        delays.add(4_000.0 if number % 10 == 0 else 20.0 + number)
    assert 35 < delays.middle_ms < 50


def test_in_fine_units_the_way_of_the_lines_is_taken_off_the_thinking() -> None:
    """Both are charged, so that the charge meets the target."""
    near, far = (GameClock((TimeControl(total_ms=600_000, unit_ms=1),) * 2) for _ in range(2))
    far.delays.middle_ms += 100
    assert near.budget(0.0).soft_ms - far.budget(0.0).soft_ms == 100


def test_one_outlier_is_no_habit_but_the_flag_is_kept_clear_of_it_for_a_while() -> None:
    delays = Delays(300)
    for number in range(60):
        delays.add(4_000.0 if number == 20 else 20.0)
        assert delays.usual_ms == 300
        if number == 20:
            assert delays.worst_ms == 5_600
    assert 300 < delays.worst_ms < 3_200


def test_a_jittery_line_raises_it_beyond_its_usual_delay() -> None:
    rng = random.Random(1)
    steady, jittery = Delays(300), Delays(300)
    for _ in range(48):
        steady.add(400.0 + rng.uniform(-10, 10))
        jittery.add(400.0 + rng.uniform(-300, 300))
    assert 400 < steady.usual_ms < 425
    assert jittery.usual_ms > 650


def test_old_delays_are_forgotten() -> None:
    delays = Delays(300)
    for _ in range(48):
        delays.add(2_000.0)
    assert delays.usual_ms == 2_000
    for _ in range(200):
        delays.add(10.0)
    assert (delays.usual_ms, delays.worst_ms) == (300, 300)


def test_the_cost_of_the_delays() -> None:
    """Sixteen unknown delays, or as many as were measured; and one more, the worst to expect."""

    def seconds(delay_ms: float) -> float:
        return 1000 * (delay_ms // 1000)

    delays = Delays(300)
    assert delays.cost(seconds) == (0, 0, 17)
    delays.add(800.0)  # 1120 is possible
    mean, variance, known = delays.cost(seconds)
    assert (mean, known) == (pytest.approx(1000 / 17), 17)
    assert variance == pytest.approx(1000**2 * (1 / 17) * (16 / 17))
    for _ in range(60):
        delays.add(20.0)
    assert delays.cost(seconds)[0] == pytest.approx(1000 / 62)  # it is not forgotten in this game
    delays.add(60_000.0)  # but another outage does not count in full
    assert delays.cost(seconds)[0] == pytest.approx(2 * 2000 / 63)


def test_a_slow_line_raises_the_margin() -> None:
    clock = GameClock((FLOODGATE,) * 2, SETTINGS)
    before = clock.budget(0.0, ply=40).soft_ms
    for _ in range(20):
        clock.budget(clock.turn_began_ms, ply=40)
        exchange(clock, 2_000.0, 350.0, 350.0, 350.0)
    assert clock.delays.usual_ms == pytest.approx(700)
    assert (before + 300) % 1000 == (clock.budget(clock.turn_began_ms, ply=40).soft_ms + 700) % 1000 == 0


@pytest.mark.parametrize(("roundup", "late"), [(False, 2_500), (True, 1_500)])
def test_the_servers_charge_shows_a_slow_way_down(roundup: bool, late: int) -> None:
    """The echo was quick, but 9 s were charged for 6.5 s: the opponent's move was at least so late."""
    clock = GameClock((TimeControl(total_ms=300_000, roundup=roundup),) * 2, SETTINGS)
    clock.sent(6_500.0)
    clock.moved(9_000, 6_520.0)
    assert clock.delays.worst_ms == pytest.approx(1.4 * late)
    assert clock.delays.usual_ms == 300


def test_the_least_time_of_a_move_says_nothing_of_the_line() -> None:
    clock = GameClock((TimeControl(total_ms=60_000, least_ms=5_000),) * 2, SETTINGS)
    clock.sent(100.0)
    clock.moved(5_000, 110.0)
    assert clock.delays.worst_ms == 300


def test_the_hard_limit_keeps_clear_of_the_worst_but_leaves_half_of_the_stake() -> None:
    control = TimeControl(byoyomi_ms=10_000)
    clock = GameClock((control,) * 2, SETTINGS)
    exchange(clock, 100.0, 10.0, 2_400.0, 10.0)
    assert clock.budget(clock.turn_began_ms).hard_ms == pytest.approx(10_000 - 1.4 * 2_410, abs=1)
    exchange(clock, 100.0, 10.0, 9_000.0, 10.0)
    assert clock.budget(clock.turn_began_ms).hard_ms == 5_000


def test_a_searcher_that_is_late_is_reckoned_with() -> None:
    clock = GameClock((FLOODGATE,) * 2, SETTINGS)
    for _ in range(20):
        soft = clock.budget(clock.turn_began_ms, ply=40).soft_ms
        exchange(clock, soft + 600.0, 1.0, 1.0, 1.0)
    assert clock.delays.usual_ms == pytest.approx(602, abs=2)
    assert clock.delays.worst_ms == clock.delays.usual_ms  # the hard limit was kept


def test_a_searcher_that_does_not_answer_costs_a_second_of_margin_at_most() -> None:
    clock = GameClock((FLOODGATE,) * 2, SETTINGS)
    for _ in range(20):
        hard = clock.budget(clock.turn_began_ms, ply=40).hard_ms
        exchange(clock, hard + 100.0, 1.0, 1.0, 1.0)
    assert clock.delays.usual_ms == pytest.approx(1_002)


def test_being_told_late_is_not_being_late() -> None:
    clock = GameClock((FLOODGATE,) * 2, SETTINGS)
    soft = clock.budget(0.0, ply=40).soft_ms
    assert clock.reconsidered(Outlook(0.5), 100.0) > soft + 4_000
    assert clock.reconsidered(Outlook(), soft + 4_000.0) == soft
    clock.sent(soft + 4_001.0)
    clock.moved(1000 * ((soft + 4_001) // 1000), soft + 4_010.0)
    assert max(clock.delays._recent) < 20
