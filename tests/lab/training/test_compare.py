"""The fit of evaluations to results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lab.training.compare import LATE_PLY, ResultLoss, Sample, Values, random_samples, result_loss

SCALE = 800


def games(count: int, seed: int = 1) -> tuple[Values, list[Sample]]:
    """Evaluations, and results that come as often as they say; the second half of the positions is late."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-2500, 2500, count)
    won = rng.random(count) < 1 / (1 + np.exp(-values / SCALE))
    plies = np.where(np.arange(count) < count // 2, LATE_PLY - 1, LATE_PLY)
    return values, [Sample("", int(ply), "", points=float(one)) for ply, one in zip(plies, won, strict=True)]


def measured(values: Values, samples: list[Sample]) -> ResultLoss:
    found = result_loss(values, samples)
    assert found is not None
    return found


def test_it_finds_the_scale_and_the_entropy_of_results_that_follow_the_evaluations() -> None:
    values, samples = games(40_000)
    chance = 1 / (1 + np.exp(-values / SCALE))
    entropy = float(-(chance * np.log(chance) + (1 - chance) * np.log(1 - chance)).mean())
    found = measured(values, samples)
    assert found.scale == pytest.approx(SCALE, rel=0.03)
    assert found.loss == pytest.approx(entropy, abs=0.006)
    assert found.early is not None and found.late is not None
    assert found.loss == pytest.approx((found.early + found.late) / 2)


def test_noise_on_the_evaluations_loses_only_where_it_is() -> None:
    values, samples = games(40_000)
    noisy = values.copy()
    noisy[20_000:] += np.random.default_rng(2).integers(-2000, 2000, 20_000)
    clean, worse = measured(values, samples), measured(noisy, samples)
    assert clean.late is not None and worse.late is not None and clean.early is not None and worse.early is not None
    assert worse.late > clean.late + 0.03 and worse.early < clean.early + 0.02


def test_positions_without_a_result_do_not_count() -> None:
    values, samples = games(2000)
    more = [*samples, Sample("", 50, "")]
    assert result_loss(np.append(values, 2900), more) == result_loss(values, samples)
    assert result_loss(np.zeros(5, np.int64), random_samples(5)) is None


def test_one_wrong_certainty_costs_no_more_than_a_bounded_loss() -> None:
    values, samples = games(1000)
    found = measured(np.append(values, 30_000), [*samples, Sample("", 150, "", points=0.0)])
    assert math.isfinite(found.loss) and found.loss < measured(values, samples).loss + 0.02


def test_a_part_without_positions_has_no_loss() -> None:
    values, samples = games(1000)
    found = measured(values[:500], samples[:500])
    assert found.late is None and found.early == pytest.approx(found.loss)
