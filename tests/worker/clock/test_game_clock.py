"""Budgets, and both sides' remaining times."""

from __future__ import annotations

import pytest

from worker.clock import ClockSettings, GameClock, Outlook, TimeBudget
from worker.clock.plan import share
from worker.clock.timecontrol import TimeControl

SETTINGS = ClockSettings()

CONTROLS = {
    "wcsc": TimeControl(total_ms=900_000, increment_ms=5_000),
    "floodgate": TimeControl(total_ms=300_000, increment_ms=10_000),
    "blitz": TimeControl(total_ms=10_000, increment_ms=1_000),
    "byoyomi 10": TimeControl(total_ms=60_000, byoyomi_ms=10_000),
    "sudden death": TimeControl(total_ms=120_000),
}


def test_the_last_seconds_are_kept_for_accidents() -> None:
    clock = GameClock((CONTROLS["blitz"],) * 2, SETTINGS)
    clock.remaining_ms[0] = 2_500
    assert clock.budget(0.0, ply=60).soft_ms == 1_700  # the part that the increment pays for


def test_the_whole_second_is_used() -> None:
    """The charge for a move is a whole number of seconds, so that the search may run nearly to the next one."""
    for name in ("wcsc", "floodgate", "blitz", "sudden death"):
        soft = GameClock((CONTROLS[name],) * 2, SETTINGS).budget(0.0, ply=40).soft_ms
        assert (soft + SETTINGS.network_margin_ms) % 1000 == 0


@pytest.mark.parametrize("remaining_ms", [1_000, 500])
@pytest.mark.parametrize("max_moves", [None, 256])
def test_the_last_second_is_not_risked_without_an_increment(remaining_ms: int, max_moves: int | None) -> None:
    clock = GameClock((CONTROLS["sudden death"],) * 2, SETTINGS)
    clock.remaining_ms[0] = remaining_ms
    at_once = SETTINGS.least_ms
    assert clock.budget(0.0, ply=100, max_moves=max_moves) == TimeBudget(at_once, at_once)
    assert clock.reconsidered(Outlook(0.2)) == at_once


def test_time_never_given_to_a_move_teaches_nothing() -> None:
    clock = GameClock((CONTROLS["floodgate"],) * 2, SETTINGS)
    clock.budget(0.0, ply=40)
    clock.reconsidered(Outlook(0.1))
    assert 1.0 < clock.typical_stretch < 1.25


@pytest.mark.parametrize("roundup", [False, True])
def test_a_worse_line_never_makes_moves_leave_later_if_little_is_left(roundup: bool) -> None:
    """The measured delay may be more than a unit."""
    budgets = []
    for worst_ms in (0.0, 300.0, 500.0, 700.0, 720.0, 1_500.0):
        clock = GameClock((TimeControl(total_ms=900_000, roundup=roundup),) * 2, SETTINGS)
        clock.delays.add(worst_ms)
        clock.remaining_ms[0] = 129_500 if roundup else 3_000
        budgets.append(clock.budget(0.0, ply=2, max_moves=256))
    assert [budget.soft_ms for budget in budgets] == sorted((budget.soft_ms for budget in budgets), reverse=True)
    assert budgets[0].soft_ms == 200
    assert budgets[-1] == TimeBudget(SETTINGS.least_ms, SETTINGS.least_ms)


def test_the_cost_of_a_bad_line_is_reserved_for_later_moves() -> None:
    """Every tenth delay is charged as a second."""
    clock = GameClock((CONTROLS["sudden death"],) * 2, SETTINGS)
    before = clock.budget(0.0, ply=60, max_moves=256).hard_ms
    for number in range(40):
        clock.delays.add(1_200.0 if number % 10 == 0 else 100.0)
    clock.remaining_ms[0] = 15_000
    budget = clock.budget(0.0, ply=60, max_moves=256)
    assert before > 9_000
    assert budget == TimeBudget(SETTINGS.least_ms, SETTINGS.least_ms)


def test_byoyomi_is_used_to_its_end() -> None:
    clock = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    assert clock.budget(0.0) == TimeBudget(8_700, 8_700)


def test_time_that_is_gone_already_is_taken_off() -> None:
    clock = GameClock((CONTROLS["floodgate"],) * 2, SETTINGS)
    full, late = clock.budget(0.0), clock.budget(1500.0)
    assert (full.soft_ms - late.soft_ms, full.hard_ms - late.hard_ms) == (1500, 1500)
    assert clock.budget(10.0**9) == TimeBudget(SETTINGS.least_ms, SETTINGS.least_ms)


def test_the_move_limit_spends_the_rest() -> None:
    clock = GameClock((CONTROLS["floodgate"],) * 2, SETTINGS)
    assert clock.budget(0.0, ply=250, max_moves=256).soft_ms > 2 * clock.budget(0.0, ply=250).soft_ms
    last = clock.budget(0.0, ply=254, max_moves=256)
    assert last.soft_ms >= last.hard_ms - 1000  # nothing comes after it


def test_the_cost_of_every_move_is_kept_up_to_the_limit() -> None:
    """Rounded up, 200 s are 200 moves at the most: a plan for half as many would end on the flag."""
    control = TimeControl(total_ms=200_000, roundup=True)
    clock = GameClock((control,) * 2, SETTINGS)
    now, moves = 0.0, 0
    for ply in range(0, 320, 2):
        now += clock.budget(now, ply, max_moves=320).soft_ms
        charged = control.charge(now - clock.turn_began_ms + SETTINGS.network_margin_ms / 2)
        assert not control.flag_falls(clock.remaining_ms[0], charged)
        clock.moved(charged, now)
        clock.moved(0, now)
        moves += 1
    assert moves == 160


def test_a_game_that_is_being_lost_does_not_save() -> None:
    soft = [
        GameClock((CONTROLS["wcsc"],) * 2, SETTINGS).budget(0.0, ply=60, score=score).soft_ms
        for score in (1000, 0, -300, -1000, -3000, -32_000)
    ]
    assert soft[0] == soft[1]
    assert soft[1] < soft[2] < soft[3] < soft[4] == soft[5] <= 0.3 * 900_000 + 6_000


def test_an_easy_move_saves_only_time_that_comes_back() -> None:
    easy = Outlook(instability=0.0)
    wcsc = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS)
    soft = wcsc.budget(0.0, ply=40).soft_ms
    assert wcsc.reconsidered(easy) == pytest.approx(0.7 * soft, abs=1_100)
    byoyomi = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    byoyomi.budget(0.0)
    assert byoyomi.reconsidered(easy) == 8_700


def test_a_delay_is_used_for_thinking_until_the_server_charges_it() -> None:
    control = TimeControl(total_ms=300_000, increment_ms=5_000, delay_ms=3_000)
    plain = GameClock((TimeControl(total_ms=300_000, increment_ms=5_000),) * 2, SETTINGS).budget(0.0).soft_ms
    for charged, more in ((6_000, 3_000), (9_000, 0)):  # kept to, and not
        clock = GameClock((control,) * 2, SETTINGS)
        assert clock.budget(0.0).soft_ms == plain + 3_000
        clock.sent(9_700.0)
        clock.moved(charged, 9_702.0)
        clock.moved(0, 9_702.0)
        assert clock.budget(9_702.0, ply=2).soft_ms == pytest.approx(plain + more, abs=1_000)


def test_no_limit_of_time() -> None:
    clock = GameClock((TimeControl(), TimeControl()), SETTINGS)
    assert clock.budget(0.0) == TimeBudget(SETTINGS.unlimited_ms, SETTINGS.unlimited_ms)


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
    stretched = [clock.reconsidered(Outlook(agreement)) for agreement in (1.0, 0.8, 0.6, 0.5, 0.2, 0.0)]
    assert stretched[0] == budget.soft_ms
    assert stretched == sorted(stretched)
    assert stretched[1] == pytest.approx(budget.soft_ms / 0.8, abs=1000)
    assert stretched[-1] == budget.hard_ms
    assert clock.reconsidered(Outlook()) == budget.soft_ms
    assert {(soft + 500 + SETTINGS.network_margin_ms) % 1000 for soft in stretched[:-2]} == {0}


def test_time_that_was_stretched_is_not_owed_by_the_next_move() -> None:
    plain, stretched = (GameClock((CONTROLS["floodgate"],) * 2, SETTINGS) for _ in range(2))
    for clock, agreement in ((plain, 1.0), (stretched, 0.5)):
        clock.budget(0.0, ply=40)
        clock.moved(1000 * round((clock.reconsidered(Outlook(agreement)) + SETTINGS.network_margin_ms) / 1000 - 1), 0.0)
        clock.moved(0, 0.0)
    spent = plain.remaining_ms[0] - stretched.remaining_ms[0]
    assert spent > 5_000
    after, before = stretched.budget(0.0, ply=42).soft_ms, plain.budget(0.0, ply=42).soft_ms
    # A smaller share of the rest, and moves that seem to need more than their time; not the time spent.
    assert 0 <= before - after <= 0.2 * before < spent


def test_if_all_moves_are_easy_the_plan_is_kept() -> None:
    """Every move is stretched by 0.85: the clock learns that moves need this much, and aims higher."""
    control = TimeControl(total_ms=100_000_000)
    clock = GameClock((control,) * 2, SETTINGS)
    aims = []
    for _ in range(60):
        clock.remaining_ms[0] = control.total_ms
        clock.budget(0.0, ply=40)
        aims.append(clock.reconsidered(Outlook(loss=-0.05)))
        clock.moved(aims[-1], 0.0)
        clock.moved(0, 0.0)
    even = control.total_ms * share(40)
    assert aims[0] == pytest.approx(0.85 * even, rel=0.001)
    assert aims[-1] == pytest.approx(even, rel=0.01)


def test_only_the_turn_with_a_budget_can_be_reconsidered() -> None:
    clock = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS)
    with pytest.raises(ValueError, match="no budget"):
        clock.reconsidered(Outlook())
    clock.budget(0.0)
    clock.moved(1000, 0.0)
    with pytest.raises(ValueError, match="no budget"):
        clock.reconsidered(Outlook())


def test_pondering_saves_time_that_comes_back() -> None:
    soft = {}
    for known in (0.0, 3_000.0, 10.0**6):
        soft[known] = GameClock((CONTROLS["wcsc"],) * 2, SETTINGS).budget(0.0, ply=40, known_ms=known).soft_ms
    assert soft[0.0] - soft[3_000.0] == 3_000
    assert soft[10.0**6] == pytest.approx(soft[0.0] / 4, abs=1_100)  # whole seconds, the first one free
    byoyomi = GameClock((TimeControl(byoyomi_ms=10_000),) * 2, SETTINGS)
    assert byoyomi.budget(0.0, known_ms=5_000.0) == TimeBudget(8_700, 8_700)
    both = GameClock((CONTROLS["byoyomi 10"],) * 2, SETTINGS)
    assert both.budget(0.0, ply=40, known_ms=10.0**6).soft_ms >= 9_700


def test_a_hit_on_a_known_reply_uses_the_whole_charged_unit() -> None:
    """Times that are rounded up charge a whole second for the quickest move."""
    control = TimeControl(total_ms=60_000, roundup=True, least_ms=0)
    fresh = GameClock((control,) * 2, SETTINGS).budget(0.0, ply=20)
    known = GameClock((control,) * 2, SETTINGS).budget(0.0, ply=20, known_ms=10.0**6)
    assert known.soft_ms == control.unit_ms - SETTINGS.network_margin_ms
    assert known.soft_ms <= fresh.soft_ms
    assert known.hard_ms >= known.soft_ms
