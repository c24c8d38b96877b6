"""The scale of a network from games: the fit finds the scale that made the results; games of a real network give
one."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.match import calibrate as module
from lab.match.calibrate import REFERENCE_CP, CalibrationError, Game, calibrate, fitted
from lab.match.openings import natural_openings
from lab.training import generation0
from master.cli import run
from worker.nnue import Network, default_network
from worker.nnue.network import default_file


def games(scale: float, count: int = 400, seed: int = 1, spread: float = 1.5) -> list[Game]:
    """Games whose results have the probabilities that raw outputs of that scale give."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        raw = rng.normal(0, spread * scale, 20)
        made.append(Game(raw, (rng.random(20) < 1 / (1 + np.exp(-raw / scale))).astype(float)))
    return made


@pytest.mark.parametrize("scale", [900.0, 12_000.0, 60_000.0])
@pytest.mark.parametrize("spread", [0.5, 1.5, 6.0])
def test_the_scale_that_made_the_results_is_found(scale: float, spread: float) -> None:
    assert fitted(games(scale, spread=spread)) == pytest.approx(scale, rel=0.2)


def test_draws_count_half() -> None:
    drawn = [replace(game, points=np.full_like(game.points, 0.5)) for game in games(9000)[::2]]
    assert fitted(games(9000)[1::2] + drawn) > 1.5 * fitted(games(9000))


def test_games_that_tell_nothing() -> None:
    raw = np.array([100.0, -100.0] * 50)
    with pytest.raises(CalibrationError, match="does not win more often"):
        fitted([Game(raw, np.full(100, 0.5))])
    with pytest.raises(CalibrationError, match="does not win more often"):
        fitted([Game(raw, (raw < 0).astype(float))])
    with pytest.raises(CalibrationError, match="every score is 0"):
        fitted([Game(np.zeros(3), np.ones(3))])
    with pytest.raises(CalibrationError):
        fitted([Game(np.zeros(0), np.zeros(0))])


def test_a_network_plays_and_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other games are played with the pilot's scale; their number is printed."""
    monkeypatch.setattr(module, "NODES", 300)
    told: list[int] = []
    found = calibrate(default_network(), natural_openings(1)[:16], on_game=told.append)
    assert told == list(range(1, 17))
    assert found.games == 16 and found.positions > 300
    assert found.low <= found.win_scale / REFERENCE_CP <= found.high
    assert 1 <= found.fv_scale <= 1024


def test_few_games_give_a_wide_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among the games drawn for it are some in which the side ahead does not win more often."""
    monkeypatch.setattr(module, "NODES", 300)
    found = calibrate(Network(generation0.build()), natural_openings(1)[:20])
    assert found.low < found.win_scale / REFERENCE_CP < found.high < math.inf


def test_a_result_that_cannot_be_kept_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "NODES", 300)
    shutil.copy(default_file(), tmp_path / "nn.bin")
    (tmp_path / "nn.bin.toml").mkdir()
    assert run(["net", "calibrate", str(tmp_path / "nn.bin"), "--games", "20", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["games"] == 20 and json.loads(out)["kept"] is None
    assert "nn.bin.toml: " in err
