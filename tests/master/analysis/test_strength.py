from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks.analysis import calibration_json
from master.analysis.calibration import read_calibration
from master.analysis.report import elo_text, strength_text
from master.analysis.strength import LEAST_MOVES, Calibration, Level, elo_of, strength, virtual_score


def player(loss_cp: int, moves: int = 700) -> tuple[tuple[int, int], ...]:
    """Loses that much with every other move, in all bands alike."""
    return tuple((index % 7, loss_cp * (index % 2)) for index in range(moves))


LEVELS = Calibration(
    "net", 50_000, (Level(100, 0.0, player(240)), Level(1000, 300.0, player(120)), Level(10_000, 500.0, player(60)))
)


def test_who_loses_less_scores_more() -> None:
    found = virtual_score(player(60), player(120))
    assert found is not None
    assert 0.5 < found.low <= found.value <= found.high <= 1.0


def test_equals_score_even() -> None:
    found = virtual_score(player(100), player(100))
    assert found is not None
    assert found.value == pytest.approx(0.5, abs=0.05)
    assert found.low < 0.5 < found.high


def test_only_bands_near_even_decide() -> None:
    careless_when_won = tuple((6, 2000) for _ in range(200)) + player(60)
    found = virtual_score(careless_when_won, player(60))
    assert found is not None and found.value == pytest.approx(0.5, abs=0.05)


def test_a_level_is_found_again() -> None:
    found = strength(player(120), LEVELS)
    assert found is not None
    assert found.elo.value == pytest.approx(300, abs=40)
    assert found.nodes.value == pytest.approx(1000, rel=0.4)
    assert found.elo.low < 300 < found.elo.high


def test_between_two_levels_and_beyond_the_ends() -> None:
    between, weak, strong = (strength(player(loss), LEVELS) for loss in (170, 900, 5))
    assert between is not None and weak is not None and strong is not None
    assert 0 < between.elo.value < 300
    assert (weak.elo.value, weak.nodes.value) == (-math.inf, 0.0)
    assert strong.elo.value == strong.nodes.value == math.inf
    assert strength_text(strong) == "more than the strongest level" and elo_text(strong.elo) == "-"
    assert strength_text(weak) == "fewer than the weakest level" and elo_text(weak.elo) == "-"
    assert re.fullmatch(r"about \d+ \(\d+ to [\d.]+k?\)", strength_text(between))


def test_fewer_moves_make_wider_intervals_and_too_few_none() -> None:
    many, few = (strength(player(120, moves), LEVELS) for moves in (2000, 60))
    assert many is not None and few is not None
    assert few.elo.high - few.elo.low > many.elo.high - many.elo.low
    assert strength(player(120, LEAST_MOVES - 1), LEVELS) is None
    assert virtual_score(player(120, LEAST_MOVES - 1), player(120)) is None


def test_the_same_moves_have_the_same_strength() -> None:
    assert strength(player(100), LEVELS) == strength(player(100), LEVELS)


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0), (0.75, 191), (0.0, -math.inf), (1.0, math.inf)])
def test_elo(score: float, elo: float) -> None:
    assert elo_of(score) == pytest.approx(elo, abs=1)


def test_a_calibration_fits_its_own_network_and_effort() -> None:
    assert LEVELS.fits("net", 50_000) and LEVELS.fits("net", 100_000) and LEVELS.fits("net", 25_000)
    assert not LEVELS.fits("net", 100_001) and not LEVELS.fits("net", 10_000) and not LEVELS.fits("other", 50_000)


def test_the_calibration_of_the_package_ranks_its_own_levels() -> None:
    found = read_calibration()
    assert [level.nodes for level in found.levels] == sorted(level.nodes for level in found.levels)
    assert [level.elo for level in found.levels] == sorted(level.elo for level in found.levels)
    weakest, strongest = found.levels[0], found.levels[-1]
    score = virtual_score(strongest.losses, weakest.losses)
    assert score is not None and score.low > 0.5


def test_a_calibration_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(calibration_json(LEVELS, {"pairs": []}), encoding="utf-8")
    found = read_calibration(path)
    assert (found.net, found.nodes_per_move) == ("net", 50_000)
    assert [sorted(level.losses) for level in found.levels] == [sorted(level.losses) for level in LEVELS.levels]
    assert json.loads(path.read_text())["measured"] == {"pairs": []}
