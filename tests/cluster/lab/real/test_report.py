"""The report on games in real time, besides their results."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cluster.lab.real.cores import Seating
from cluster.lab.real.report import check_cores, crowded, doubts, summarize_real
from cluster.lab.real_figures import RealFigures, RealGame
from cluster.lab.records import GameRecord
from cluster.lab.report import facts, measured, real_table, summarize, table
from cluster.lab.schedule import Point
from cluster.lab.settings import LabError, LabSettings, Opponent
from tests.cluster.lab.games import record
from tests.cluster.lab.real.games import figures, real_record

SETTINGS = LabSettings(ms=300, net="abc", hash_mb=128)
GAMES = [real_record(0, 1.0), real_record(1, 0.5, voids=1, load_end=2.5)]


def test_a_line_comes_back_as_it_was() -> None:
    for game in (*GAMES, record(0, 1.0)):
        assert GameRecord.from_line(game.to_line()) == game
    assert "real" not in json.loads(record(0, 1.0).to_line())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cores": []}, r"Expected `array` of length >= 1 - at `\$.real.cores`"),
        ({"cores_b": [0, -1]}, r"Expected `int` >= 0 - at `\$.real.cores_b\[1\]`"),
        ({"voids": "1"}, r"Expected `int`, got `str` - at `\$.real.voids`"),
        ({"a": {"asked_ms": 0.5}}, r"Expected `int`, got `float` - at `\$.real.a.asked_ms`"),
        ({"others": None}, r"Expected `float`, got `null` - at `\$.real.others`"),
    ],
)
def test_a_line_is_checked(change: dict[str, object], says: str) -> None:
    plain = json.loads(GAMES[0].to_line())
    plain["real"] |= change
    with pytest.raises(LabError, match=says):
        GameRecord.from_line(json.dumps(plain))
    with pytest.raises(LabError, match=r"Expected `object | null`, got `int` - at `\$.real`"):
        GameRecord.from_line(json.dumps(plain | {"real": 1}))


def test_sums_over_games() -> None:
    found = summarize_real(GAMES)
    assert found is not None
    assert (found.a.asked_ms, found.a.used_ms, found.a.late_ms) == (6000, 6060.0, 8.0)
    assert found.a.cpu_s["nodes"] == pytest.approx(12 / 6.06)
    assert (found.cores, found.loads, found.others) == (2, (0.5, 2.0), pytest.approx(0.01))
    assert summarize_real([record(0, 1.0)]) is None


def test_facts_and_table() -> None:
    results = summarize(GAMES)
    found = facts(SETTINGS, results, True)
    assert (found["real"], found["ms"], found["against_ms"], "budget" in found) == (True, 300, 300, False)
    real = found["points"][0]["real"]
    assert real["a"]["cpu_s_per_s"] == {"nodes": 1.9802, "master": 0.0198, "fallback": 0.0}
    assert (real["voids"], real["cores_per_game"], real["load_end"]) == (1, 2, 2.0)
    json.dumps(found, allow_nan=False)
    text = real_table(results)
    assert text.splitlines()[0] == (
        "split, 2 nodes: 2 cores a game; load 0.5 when a game began, 2.0 at its end; others took 0.01 cores of it; "
        "1 void game"
    )
    assert text.splitlines()[2].split() == [
        "A",
        "400",
        "101.0%",
        "+8",
        "ms",
        "1.980",
        "0.020",
        "0.000",
        "0.000",
    ]
    assert "careful" not in text
    assert real_table(summarize([record(0, 1.0)])) == ""
    assert "2" in table(results)
    virtual = facts(LabSettings(4000), summarize([record(0, 1.0)]), True)
    assert (virtual["real"], virtual["budget"], "real" in virtual["points"][0]) == (False, 4000, False)


def test_what_speaks_against_a_measurement() -> None:
    def said(**changes: object) -> list[str]:
        found = summarize_real([real_record(0, **changes)])
        assert found is not None
        return doubts(found)

    assert said() == []
    assert said(others=0.6) == ["the machine was not idle: others took 0.60 of a game's 2 cores"]
    assert said(a=figures(used_ms=3900.0)) == ["A took 130% of the time that it was given"]
    assert said(b=figures(without_nodes=2)) == ["B played 2 moves for which no node had an answer in time"]
    assert said(b=figures(starved=2)) == ["nodes of B did not get their cores, and said so: 2"]
    assert said(a=figures(idle_s=1.0)) == ["A took 0.33 CPU seconds a second while the other side searched"]
    assert said(a=figures(idle_s=1.0), cores_b=(2,)) == [], "who ponders is not to be idle"


def test_a_point_stays_on_as_many_cores() -> None:
    seating = Seating((4, 5, 6, 7), 2, (Point("split", 2),), Opponent.parse("1x"))
    check_cores([*GAMES, real_record(0, nodes=8), record(2, 1.0)], seating)
    one = Seating((0,), 1, (Point("split", 2),), Opponent.parse("1x"), oversubscribe=True)
    with pytest.raises(LabError, match="split, 2 nodes: game 0 had 2 cores for A and 2 for B, the next would have 1"):
        check_cores(GAMES, one)
    assert "2 nodes on 1 core (0)" in crowded(one)
    assert crowded(seating) == ""


def test_what_a_table_gets() -> None:
    """The budget is what the one node searched in its time."""
    games = [replace(game, b=replace(game.b, moves=10, nodes=1_400_000)) for game in GAMES]
    (point,) = measured(SETTINGS, summarize(games))
    assert (point.strategy, point.nodes, point.budget, point.ms, point.net) == ("split", 2, 140_000, 300, "abc")
    with pytest.raises(LabError, match="over one node"):
        measured(LabSettings(ms=300, against="2x"), summarize(games))


def test_figures_of_nothing() -> None:
    empty = RealGame((0,), (0,), 0.1, 0.0, 0.0, 0.0, 0)
    found = summarize_real([replace(record(0, 1.0), real=empty)])
    assert found is not None
    assert found.a == RealFigures()
    assert doubts(found) == []
