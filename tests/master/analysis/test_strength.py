from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.analysis import calibration_json
from master.analysis.judgement import statistics
from master.analysis.report import PlayerReport, ReportSettings, strength_words
from master.analysis.strength import LEAST_MOVES, Calibration, Level, read_calibration, strength


def varied(loss_cp: int, moves: int = 700) -> tuple[tuple[int, int], ...]:
    """Loses nothing, half as much, as much or twice as much."""
    return tuple((index % 7, (0, loss_cp // 2, 0, loss_cp, 0, 2 * loss_cp)[index % 6]) for index in range(moves))


LEVELS = Calibration(
    "net", 50_000, (Level(100, 0.0, varied(240)), Level(1000, 300.0, varied(120)), Level(10_000, 500.0, varied(60)))
)


SHIPPED = read_calibration()
FLAWLESS, CARELESS = (tuple((3, loss) for _ in range(100)) for loss in (0, 900))


def test_a_level_is_found_again() -> None:
    for level in LEVELS.levels:
        found = strength(level.losses, LEVELS)
        assert found is not None
        assert found.elo.value == pytest.approx(level.elo, abs=60)
        assert found.nodes.value == pytest.approx(level.nodes, rel=0.4)
        assert found.elo.low <= level.elo <= found.elo.high


def test_between_two_levels_and_at_the_ends() -> None:
    mixed = LEVELS.levels[0].losses[:350] + LEVELS.levels[1].losses[:350]
    between, weak, strong = strength(mixed, LEVELS), strength(CARELESS, SHIPPED), strength(FLAWLESS, SHIPPED)
    assert between is not None and weak is not None and strong is not None
    assert 0 < between.elo.low < between.elo.value < between.elo.high < 300
    assert weak.nodes.value < 150 and (weak.elo.low, weak.nodes.low) == (-math.inf, 0.0)
    assert strong.nodes.value > 5000 and strong.elo.high == strong.nodes.high == math.inf


def words(losses: tuple[tuple[int, int], ...], no_strength: str = "") -> str:
    judged = statistics("anna", ())
    one = PlayerReport(replace(judged, losses=losses), None if no_strength else strength(losses, SHIPPED))
    return strength_words(one, ReportSettings("Gougi", "50000 nodes a position", no_strength))


def test_the_true_reason_why_there_is_none() -> None:
    assert words(FLAWLESS[:19]) == "No strength: 19 judged moves are too few, it takes 20."
    assert words(FLAWLESS, "another network") == "", "said once, of the analysis as a whole"


def test_fewer_moves_make_wider_intervals_and_too_few_none() -> None:
    every = LEVELS.levels[1].losses
    many, few = strength(every, LEVELS), strength(every[:60], LEVELS)
    assert many is not None and few is not None
    assert few.elo.high - few.elo.low > many.elo.high - many.elo.low
    assert strength(every[: LEAST_MOVES - 1], LEVELS) is None


def test_a_calibration_fits_its_own_network_and_effort() -> None:
    assert LEVELS.fits("net", 50_000) and LEVELS.fits("net", 100_000) and LEVELS.fits("net", 25_000)
    assert not LEVELS.fits("net", 100_001) and not LEVELS.fits("net", 10_000) and not LEVELS.fits("other", 50_000)


def test_the_calibration_of_the_package_ranks_its_own_levels() -> None:
    found = read_calibration()
    assert [level.nodes for level in found.levels] == sorted(level.nodes for level in found.levels)
    assert [level.elo for level in found.levels] == sorted(level.elo for level in found.levels)


def test_a_calibration_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(calibration_json(LEVELS, {"pairs": []}), encoding="utf-8")
    found = read_calibration(path)
    assert (found.net, found.nodes_per_move) == ("net", 50_000)
    assert [sorted(level.losses) for level in found.levels] == [sorted(level.losses) for level in LEVELS.levels]
    assert json.loads(path.read_text())["measured"] == {"pairs": []}
