"""The single engine's clock never takes the flag, and uses the seconds that it is charged for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.search.timing import Iteration, Outlook, TimeLeft, TimeOptions, budget

times = st.builds(TimeLeft, st.integers(0, 3_600_000), st.integers(0, 60_000), st.integers(0, 60_000))


@given(times, st.booleans(), st.integers(1, 1000))
def test_neither_limit_reaches_the_last_of_the_time(left: TimeLeft, full_seconds: bool, slow_mover: int) -> None:
    options = TimeOptions(full_seconds=full_seconds, slow_mover=slow_mover)
    soft, hard = budget(left, options)
    everything = left.main_ms + left.increment_ms + left.byoyomi_ms
    assert 0 < soft <= hard
    assert hard <= max(10, everything - min(options.last_delay_ms, everything // 2))


def test_a_begun_second_is_used() -> None:
    assert budget(TimeLeft(byoyomi_ms=10_000), TimeOptions()) == (8_880, 8_880)
    soft, hard = budget(TimeLeft(600_000, 5_000), TimeOptions())
    assert soft % 1000 == 880
    assert hard % 1000 == 880
    assert 20_000 < soft < 25_000


def test_more_time_and_a_slower_mover_think_longer() -> None:
    fast = budget(TimeLeft(600_000), TimeOptions(slow_mover=50))
    slow = budget(TimeLeft(600_000), TimeOptions(slow_mover=200))
    assert fast[0] < budget(TimeLeft(600_000), TimeOptions())[0] < slow[0]


def test_the_least_time_is_kept_where_the_clock_allows_it() -> None:
    assert budget(TimeLeft(60_000), TimeOptions(least_ms=4_000, full_seconds=False))[0] == 4_000
    assert budget(TimeLeft(500), TimeOptions(least_ms=4_000))[1] == 250


def outlook(scores: list[int], moves: list[int], effort: float = 0.5, before: int | None = 50) -> float:
    """The factor after iterations with these scores and best moves."""
    judge = Outlook(before)
    factor = 1.0
    for depth, (score, move) in enumerate(zip(scores, moves, strict=True), start=8):
        changed = depth > 8 and move != moves[depth - 9]
        factor = judge.note(Iteration(depth, move, score, effort, int(changed)))
    return factor


def test_a_falling_score_a_change_of_mind_and_a_rival_take_time() -> None:
    calm = outlook([50] * 6, [1] * 6)
    assert outlook([50, 40, 20, 0, -30, -60], [1] * 6) > calm
    assert outlook([50, 60, 80, 90, 99, 120], [1] * 6) < calm
    assert outlook([50] * 6, [1, 2, 1, 2, 1, 2]) > 1 > calm
    assert outlook([50] * 6, [1] * 6, effort=0.98) < calm
    assert outlook([50] * 6, [1] * 6, before=200) > calm
    assert 0 < outlook([50] * 40, [1] * 40) < calm


def test_the_first_search_of_a_game_has_nothing_to_compare_with() -> None:
    assert outlook([-300] * 3, [1] * 3, before=None) == outlook([300] * 3, [1] * 3, before=None)
