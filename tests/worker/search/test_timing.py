"""The single engine's clock never takes the flag, and uses the seconds that it is charged for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.search.timing import TimeLeft, TimeOptions, budget

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
