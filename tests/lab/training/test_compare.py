"""Networks compared over positions of teacher games."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from lab.training import compare
from lab.training.compare import (
    ResultLoss,
    Values,
    comparison,
    distances,
    mean_and_margin,
    quiet_records,
    result_loss,
    winning_chances,
)
from lab.training.corpus import shard_files
from master.cli import run
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue.beside import write_beside
from worker.nnue.format import read_network
from worker.nnue.network import default_file

SCALE = 800


def games(count: int, seed: int = 1) -> tuple[Values, npt.NDArray[np.int8]]:
    """Evaluations, and results with the probabilities that they give."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-2500, 2500, count).astype(np.float64)
    won = rng.random(count) < 1 / (1 + np.exp(-values / SCALE))
    return values, np.where(won, 1, -1).astype(np.int8)


def measured(values: Values, results: npt.NDArray[np.int8]) -> ResultLoss:
    found = result_loss(values, results)
    assert found is not None
    return found


def test_it_finds_the_scale_and_the_entropy_of_results_that_follow_the_evaluations() -> None:
    values, results = games(40_000)
    chance = 1 / (1 + np.exp(-values / SCALE))
    entropy = float(-(chance * np.log(chance) + (1 - chance) * np.log(1 - chance)).mean())
    found = measured(values, results)
    assert found.scale == pytest.approx(SCALE, rel=0.03)
    assert found.loss == pytest.approx(entropy, abs=0.006)
    noisy = values + np.random.default_rng(2).integers(-2000, 2000, 40_000)
    assert measured(noisy, results).loss > found.loss + 0.02
    assert result_loss(np.zeros(5), np.zeros(5, np.int8)) is None


def test_one_wrong_certainty_costs_no_more_than_a_bounded_loss() -> None:
    values, results = games(1000)
    found = measured(np.append(values, 30_000), np.append(results, np.int8(-1)))
    assert math.isfinite(found.loss) and found.loss < measured(values, results).loss + 0.02


def test_the_distance_from_chances_is_zero_at_their_scale_and_grows_with_noise() -> None:
    values, _ = games(4000)
    chances = winning_chances(values, SCALE)
    exact, scale = distances(values, chances)
    assert scale == pytest.approx(SCALE, rel=0.02) and exact.mean() == pytest.approx(0, abs=1e-4)
    noise = np.random.default_rng(2).normal(0, 1, 4000)
    few, many = (distances(values + size * noise, chances)[0] for size in (200, 400))
    assert 0.001 < few.mean() < many.mean() / 2


def test_the_interval_of_positions_that_are_alike_is_wider() -> None:
    """Forty positions of a game that all differ by the same are one observation."""
    draws = np.random.default_rng(3).normal(1, 1, 4000)
    alone, alike = mean_and_margin(draws), mean_and_margin(np.repeat(draws[:100], 40))
    assert alone == (pytest.approx(1, abs=0.05), pytest.approx(1.96 / 4000**0.5, rel=0.3))
    assert alike[1] == pytest.approx(1.96 / 100**0.5, rel=0.3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("teacher") / "games", shards=3, games=24)


def test_positions_that_training_validates_with_come_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "HELD_OUT", 0.3)
    files = shard_files([folder])
    many, held_out = quiet_records(files, 100_000)
    corpus = corpus_of(folder, 0.3)
    assert held_out == corpus.validation and len(many) == corpus.validation + corpus.training
    assert (many[:held_out] == corpus.validation_records(100_000)).all()
    few, held_out = quiet_records(files, 10)
    assert len(few) == held_out == 10
    assert quiet_records(files, corpus.validation + 5)[1] == corpus.validation


def test_a_network_is_like_itself(folder: Path) -> None:
    network = read_network(default_file())
    records, _ = quiet_records(shard_files([folder]), 500)
    facts = comparison(network, network, records)
    assert (facts["positions"], facts["rms"], facts["same_side"]) == (500, 0, 1)
    assert facts["correlation"] == pytest.approx(1)
    assert facts["distance_difference"] == facts["results_difference"] == (0, 0)


def test_the_scale_beside_a_network_counts(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.bin", "b.bin"):
        shutil.copy(default_file(), tmp_path / name)
    write_beside(tmp_path / "b.bin", {"fv_scale": 32})
    words = [str(tmp_path / "a.bin"), str(tmp_path / "b.bin"), "--data", str(folder), "--positions", "50", "--json"]
    assert run(["net", "compare", *words]) == 0
    assert json.loads(capsys.readouterr().out)["slope"] == pytest.approx(0.5, abs=0.01)
