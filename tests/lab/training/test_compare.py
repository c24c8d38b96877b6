"""Networks compared over positions of teacher games."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lab.training import compare
from lab.training.compare import LATE_PLY, ResultLoss, Sample, Values, random_samples, result_loss, teacher_samples
from lab.training.corpus import shard_files
from tests.lab.training.shards import corpus_of, folder_of

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("teacher") / "games", shards=3, games=24)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_games_held_out_are_those_that_training_validates_with(
    folder: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "HELD_OUT", share)
    quiet = sum(one.is_held_out for one in teacher_samples(shard_files([folder]), 100_000))
    assert quiet == sum(source.validation for source in corpus_of(folder, share).sources)


def test_positions_of_games_held_out_come_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "HELD_OUT", 0.3)
    files = shard_files([folder])
    many = teacher_samples(files, 100_000)
    held_out = [one for one in many if one.is_held_out]
    assert 0 < len(held_out) < len(many) and many[: len(held_out)] == held_out
    few = teacher_samples(files, 10)
    assert len(few) == 10 and all(one.is_held_out for one in few)
    assert len({one.where.partition(", move")[0] for one in few}) > 1
    more = teacher_samples(files, len(held_out) + 5)
    assert [one.is_held_out for one in more] == [True] * len(held_out) + [False] * 5


def test_a_sample_has_the_move_the_ply_and_the_points_of_its_game(folder: Path) -> None:
    for one in teacher_samples(shard_files([folder]), 40):
        position = one.position()
        assert position.sfen() == one.sfen and one.move in position.legal_moves()
        assert one.where.endswith(f", move {one.ply}") and one.points in (0.0, 0.5, 1.0)


def test_random_samples_have_no_game() -> None:
    found = random_samples(20)
    assert len({one.sfen for one in found}) == 20
    assert all(one.move == 0 and one.points is None and not one.is_held_out for one in found)
