from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from master.clock import Budget, ClockSettings, GameClock
from master.csa.timecontrol import TimeControl

SETTINGS = ClockSettings()

CONTROLS = {
    "wcsc": TimeControl(total_ms=900_000, increment_ms=5_000),
    "floodgate": TimeControl(total_ms=300_000, increment_ms=10_000),
    "blitz": TimeControl(total_ms=10_000, increment_ms=1_000),
    "soak": TimeControl(total_ms=5_000, increment_ms=1_000),
    "byoyomi 1": TimeControl(byoyomi_ms=1_000),
    "byoyomi 10": TimeControl(total_ms=60_000, byoyomi_ms=10_000),
    "sudden death": TimeControl(total_ms=120_000),
    "nothing left": TimeControl(total_ms=1_000),
    "least": TimeControl(total_ms=120_000, byoyomi_ms=2_000, least_ms=1_000),
    "roundup": TimeControl(total_ms=300_000, increment_ms=3_000, roundup=True),
    "milliseconds": TimeControl(total_ms=60_000, increment_ms=1_000, unit_ms=1),
    "minutes": TimeControl(total_ms=1_800_000, byoyomi_ms=60_000, unit_ms=60_000),
}


def play_out(
    control: TimeControl,
    rng: random.Random,
    own_moves: int,
    effort: str,
    max_moves: int | None = None,
    ponder: bool = False,
) -> tuple[bool, int]:
    """Black's side of a game against a server that charges as the protocol says.

    Returns:
        Whether the flag fell, and the main time that was left.
    """
    clock = GameClock((control, control), SETTINGS)
    remaining = control.total_ms
    now = 0.0
    for number in range(own_moves):
        # The opponent's echo leaves the server, takes a while to reach us; so does our line.
        delay = rng.uniform(0, SETTINGS.network_margin_ms)
        coming, going = delay * (split := rng.random()), delay * (1 - split)
        known_ms = rng.choice([0.0, rng.uniform(0.0, 30_000.0)])
        budget = clock.budget(now, ply=2 * number, max_moves=max_moves, known_ms=known_ms if ponder else 0.0)
        thought = {
            "soft": budget.soft_ms,
            "hard": budget.hard_ms,
            "random": rng.choice([budget.soft_ms, budget.hard_ms, rng.uniform(0, budget.hard_ms)]),
            "agreement": clock.reconsidered(rng.choice([1.0, rng.uniform(0.2, 1.0)])),
        }[effort]
        charged = control.charge(coming + thought + going)
        if control.flag_falls(remaining, charged):
            return True, remaining
        remaining = control.after(remaining, charged)
        now += thought + going + coming
        clock.moved(charged, now)
        clock.moved(0, now)
        assert clock.remaining_ms[0] == remaining
    return False, remaining


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("effort", ["soft", "hard", "random", "agreement"])
def test_no_flag_falls_in_a_hundred_games(name: str, effort: str) -> None:
    rng = random.Random(f"{name} {effort}")
    for number in range(100):
        moves = rng.randint(1, 160)
        fell, _ = play_out(CONTROLS[name], rng, own_moves=moves, effort=effort, ponder=number % 2 == 0)
        assert not fell


@settings(max_examples=300)
@given(
    total=st.integers(0, 3600),
    byoyomi=st.integers(0, 60),
    increment=st.integers(0, 30),
    least=st.sampled_from([0, 0, 1]),
    roundup=st.booleans(),
    unit_ms=st.sampled_from([1000, 1000, 1, 60_000]),
    effort=st.sampled_from(["soft", "hard", "random", "agreement"]),
    seed=st.integers(0, 1 << 30),
)
def test_no_flag_falls_under_any_control(
    total: int, byoyomi: int, increment: int, least: int, roundup: bool, unit_ms: int, effort: str, seed: int
) -> None:
    scale = max(1000, unit_ms)
    control = TimeControl(total * scale, byoyomi * scale, increment * scale, 0, least * scale, unit_ms, roundup)
    cost_of_a_move_at_once = control.charge(SETTINGS.network_margin_ms + SETTINGS.least_ms)
    if cost_of_a_move_at_once and control.byoyomi_ms + control.increment_ms <= cost_of_a_move_at_once:
        return  # what a move costs at the least does not come back: any game is lost on time in the end
    fell, _ = play_out(control, random.Random(seed), own_moves=100, effort=effort, max_moves=256)
    assert not fell


@pytest.mark.parametrize(
    "name", ["wcsc", "floodgate", "blitz", "byoyomi 10", "sudden death", "milliseconds", "roundup"]
)
def test_most_of_the_main_time_is_used(name: str) -> None:
    control = CONTROLS[name]
    _, left = play_out(control, random.Random(1), own_moves=75, effort="soft")
    untouched = min(SETTINGS.untouched_ms, control.total_ms / 4)
    assert left - untouched <= 0.2 * control.total_ms


def test_the_last_seconds_are_kept_for_what_goes_wrong() -> None:
    clock = GameClock((CONTROLS["blitz"],) * 2, SETTINGS)
    clock.remaining_ms[0] = 2_500
    assert clock.budget(0.0, ply=60).soft_ms == 1_700  # what the increment pays for


def test_the_whole_second_is_used() -> None:
    """What a move is charged is a whole number of seconds, so that the search may run nearly to the next one."""
    for name in ("wcsc", "floodgate", "blitz", "sudden death"):
        soft = GameClock((CONTROLS[name],) * 2, SETTINGS).budget(0.0, ply=40).soft_ms
        assert (soft + SETTINGS.network_margin_ms) % 1000 == 0


def test_byoyomi_is_used_to_its_end() -> None:
    clock = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    assert clock.budget(0.0) == Budget(9_200, 9_200)


def test_a_short_byoyomi_keeps_the_margin() -> None:
    clock = GameClock((TimeControl(byoyomi_ms=1_000),) * 2, SETTINGS)
    assert clock.budget(0.0) == Budget(600, 600)


def test_the_increment_counts_on_the_first_move() -> None:
    clock = GameClock((TimeControl(total_ms=1_000, increment_ms=10_000),) * 2, SETTINGS)
    assert clock.budget(0.0).hard_ms > 9_000


def test_time_that_is_gone_already_is_taken_off() -> None:
    clock = GameClock((CONTROLS["floodgate"],) * 2, SETTINGS)
    full, late = clock.budget(0.0), clock.budget(1500.0)
    assert (full.soft_ms - late.soft_ms, full.hard_ms - late.hard_ms) == (1500, 1500)
    assert clock.budget(10.0**9) == Budget(SETTINGS.least_ms, SETTINGS.least_ms)


def test_the_move_limit_spends_what_would_be_left() -> None:
    clock = GameClock((CONTROLS["floodgate"],) * 2, SETTINGS)
    assert clock.budget(0.0, ply=250, max_moves=256).soft_ms > 3 * clock.budget(0.0, ply=250).soft_ms


def test_no_limit_of_time() -> None:
    clock = GameClock((TimeControl(), TimeControl()), SETTINGS)
    assert clock.budget(0.0) == Budget(SETTINGS.unlimited_ms, SETTINGS.unlimited_ms)


def test_sides_may_have_different_times() -> None:
    clock = GameClock((TimeControl(total_ms=10_000), TimeControl(total_ms=600_000)), SETTINGS, turn=1)
    slow = clock.budget(0.0, ply=40).soft_ms
    clock.moved(5_000, 5_000.0)
    assert clock.remaining_ms == [10_000, 595_000]
    assert clock.budget(5_000.0, ply=41).soft_ms < slow / 10


def test_moves_before_the_start_are_charged_but_earn_nothing() -> None:
    clock = GameClock((CONTROLS["blitz"],) * 2, SETTINGS)
    clock.charge_before_start(0, 0)
    clock.charge_before_start(1, 3_000)
    assert clock.remaining_ms == [10_000, 8_000]


def test_the_shown_time_runs_down_only_on_turn() -> None:
    clock = GameClock((TimeControl(total_ms=10_000, byoyomi_ms=5_000),) * 2, SETTINGS)
    assert (clock.left_ms(0, 4_000.0), clock.left_ms(1, 4_000.0)) == (6_000, 10_000)
    assert clock.left_ms(0, 12_000.0) == 0
    fischer = GameClock((CONTROLS["blitz"],) * 2, SETTINGS)
    assert (fischer.left_ms(0, 500.0), fischer.left_ms(0, 4_000.0)) == (10_000, 7_000)


def test_disagreement_buys_time_within_the_hard_limit() -> None:
    clock = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS)
    budget = clock.budget(500.0, ply=40)
    stretched = [clock.reconsidered(agreement) for agreement in (1.0, 0.8, 0.6, 0.5, 0.2, 0.0)]
    assert stretched[0] == budget.soft_ms
    assert stretched == sorted(stretched)
    assert stretched[1] == pytest.approx(budget.soft_ms / 0.8, abs=1000)
    assert stretched[-1] == budget.hard_ms
    assert clock.reconsidered(1.0) == budget.soft_ms
    assert {(soft + 500 + SETTINGS.network_margin_ms) % 1000 for soft in stretched[:-2]} == {0}


def test_there_is_nothing_to_stretch_in_byoyomi() -> None:
    clock = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    assert clock.budget(0.0).soft_ms == clock.reconsidered(0.25)


def test_time_that_was_stretched_is_not_owed_by_the_next_move() -> None:
    plain, stretched = (GameClock((CONTROLS["floodgate"],) * 2, SETTINGS) for _ in range(2))
    for clock, agreement in ((plain, 1.0), (stretched, 0.5)):
        clock.budget(0.0, ply=40)
        clock.moved(1000 * round((clock.reconsidered(agreement) + SETTINGS.network_margin_ms) / 1000 - 1), 0.0)
        clock.moved(0, 0.0)
    spent = plain.remaining_ms[0] - stretched.remaining_ms[0]
    assert spent > 5_000
    difference = plain.budget(0.0, ply=42).soft_ms - stretched.budget(0.0, ply=42).soft_ms
    assert 0 <= difference <= 1_000  # by the smaller share of what is left, not by what was spent


def test_only_the_turn_with_a_budget_can_be_reconsidered() -> None:
    clock = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS)
    with pytest.raises(ValueError, match="no budget"):
        clock.reconsidered(1.0)
    clock.budget(0.0)
    clock.moved(1000, 0.0)
    with pytest.raises(ValueError, match="no budget"):
        clock.reconsidered(1.0)


def test_what_is_known_from_pondering_saves_time_that_comes_back() -> None:
    soft = {}
    for known in (0.0, 3_000.0, 10.0**6):
        soft[known] = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS).budget(0.0, ply=40, known_ms=known).soft_ms
    assert soft[0.0] - soft[3_000.0] == 3_000
    assert soft[10.0**6] == pytest.approx(soft[0.0] / 4, abs=1_100)  # whole seconds, the first one free
    byoyomi = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    assert byoyomi.budget(0.0, known_ms=5_000.0) == Budget(9_200, 9_200)
    both = GameClock((CONTROLS["byoyomi 10"],) * 2, SETTINGS)
    assert both.budget(0.0, ply=40, known_ms=10.0**6).soft_ms >= 9_700


def test_a_hit_on_what_is_long_known_uses_the_unit_that_it_is_charged_for_all_the_same() -> None:
    """Times that are rounded up charge a whole second for the quickest move."""
    control = TimeControl(total_ms=60_000, roundup=True, least_ms=0)
    fresh = GameClock((control,) * 2, SETTINGS).budget(0.0, ply=20)
    known = GameClock((control,) * 2, SETTINGS).budget(0.0, ply=20, known_ms=10.0**6)
    assert known.soft_ms == control.unit_ms - SETTINGS.network_margin_ms
    assert known.soft_ms <= fresh.soft_ms
    assert known.hard_ms >= known.soft_ms
