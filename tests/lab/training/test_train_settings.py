"""The values in force at each moment of a run."""

from __future__ import annotations

from typing import Any

import pytest

from lab.training.train_settings import VALIDATIONS, Schedule, TrainSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 100),
        ("width", 200),
        ("rate", 0),
        ("score_to", 1.5),
        ("quantised", -1),
        ("features", "P"),
        ("batch", 0),
        ("horizon", -1),
    ],
)
def test_settings_out_of_range_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        TrainSettings(**{name: value})


def test_a_run_has_epochs_or_positions() -> None:
    for both in ({"epochs": None}, {"epochs": 1.0, "positions": 5}):
        with pytest.raises(ValueError, match="epochs and positions"):
            TrainSettings(**both)  # type: ignore[arg-type]
    assert Schedule.of(TrainSettings(epochs=2.5), 1000).total == 2500
    assert Schedule.of(TrainSettings(epochs=None, positions=77), 1000).total == 77


def test_the_rate_rises_and_falls_and_labels_go_from_score_to_result() -> None:
    schedule = Schedule.of(TrainSettings(rate=0.01, score_from=1, score_to=0.5, quantised=0.25), 1000)
    rates = [schedule.rate(over) for over in range(0, schedule.total + 1, 50)]
    top = rates.index(max(rates))
    assert rates[:top] == sorted(rates[:top]) and rates[top:] == sorted(rates[top:], reverse=True)
    assert max(rates) == pytest.approx(0.01) and rates[-1] == pytest.approx(0.0001)
    assert rates[0] < 0.0001
    assert [schedule.score_share(over) for over in (0, 5000, 10000, 20000)] == [1, 0.75, 0.5, 0.5]
    assert not schedule.is_quantised(7499) and schedule.is_quantised(7500)
    assert schedule.validations(0) == 0 and schedule.validations(schedule.total) == VALIDATIONS
