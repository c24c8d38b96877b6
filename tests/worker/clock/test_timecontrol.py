from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.clock.timecontrol import TimeControl

FISCHER = TimeControl(total_ms=60_000, increment_ms=5_000)
BYOYOMI = TimeControl(total_ms=1_000, byoyomi_ms=3_000)


@pytest.mark.parametrize(
    ("control", "elapsed_ms", "charged_ms"),
    [
        (FISCHER, 0, 0),
        (FISCHER, 999.9, 0),
        (FISCHER, 1000, 1000),
        (FISCHER, 3950, 3000),
        (FISCHER, -5, 0),
        (TimeControl(total_ms=60_000, least_ms=1000), 10, 1000),
        (TimeControl(total_ms=60_000, least_ms=1000), 2500, 2000),
        (TimeControl(total_ms=60_000, roundup=True), 1, 1000),
        (TimeControl(total_ms=60_000, roundup=True), 2000, 2000),
        (TimeControl(total_ms=60_000, unit_ms=1), 1234.5, 1234),
        (TimeControl(total_ms=600_000, unit_ms=60_000), 59_999, 0),
    ],
)
def test_charge(control: TimeControl, elapsed_ms: float, charged_ms: int) -> None:
    assert control.charge(elapsed_ms) == charged_ms


def test_the_increment_counts_on_the_first_move_and_the_flag_falls_on_equality() -> None:
    control = TimeControl(total_ms=2000, increment_ms=2000)
    assert not control.flag_falls(2000, 3000)
    assert control.after(2000, 3000) == 1000
    assert control.flag_falls(2000, 4000)


def test_byoyomi_as_in_the_recorded_session() -> None:
    remaining = BYOYOMI.total_ms
    assert not BYOYOMI.flag_falls(remaining, 3000)
    remaining = BYOYOMI.after(remaining, 3000)
    assert remaining == 0
    assert not BYOYOMI.flag_falls(remaining, 2000)
    assert BYOYOMI.flag_falls(remaining, 3000)


def test_no_time_at_all_is_no_limit() -> None:
    control = TimeControl()
    assert control.unlimited
    assert not control.flag_falls(0, 10**9)


@given(st.booleans(), st.sampled_from([1, 1000, 60_000]), st.integers(0, 90_000), st.sampled_from([0, 1000]))
def test_flag_elapsed_is_the_first_millisecond_too_late(
    roundup: bool, unit_ms: int, remaining_ms: int, least_ms: int
) -> None:
    control = TimeControl(1, 2000, 500, unit_ms=unit_ms, roundup=roundup, least_ms=least_ms)
    falls = control.flag_elapsed_ms(remaining_ms)
    assert control.flag_falls(remaining_ms, control.charge(falls))
    assert falls == 0 or not control.flag_falls(remaining_ms, control.charge(falls - 1))
