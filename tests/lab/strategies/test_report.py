"""Figures, table and plot."""

from __future__ import annotations

import json

import pytest

from lab.match.statistics import Sprt
from lab.strategies.report import facts, sprt_table, summarize, table, undecided
from lab.strategies.settings import LabSettings, Point
from tests.lab.strategies.games import record

GAMES = [
    record(1, 1.0, nodes=4),
    record(0, 1.0, nodes=4),
    record(0, 1.0, wasted=100, redeals=3),
    record(1, 0.0, wasted=60),
    record(2, 0.5),
    record(3, 1.0),
    record(0, 0.5, "consult", votes=4, agreement=3.0),
    record(1, 0.5, "consult", votes=1, agreement=1.0),
]


def test_figures_by_point() -> None:
    two, four, vote = summarize(GAMES)
    assert [str(result.point) for result in (two, four, vote)] == [
        "split, 2 nodes",
        "split, 4 nodes",
        "consult, 2 nodes",
    ]
    assert (two.tally.wins, two.tally.draws, two.tally.losses, two.tally.pairs) == (2, 1, 1, (0, 0, 1, 1, 0))
    assert (two.agreement, two.redeals, two.wasted) == (None, 0.75, 0.05)
    assert vote.agreement == pytest.approx(0.8)
    assert four.strength.elo == float("inf")


def test_the_order_of_the_games_does_not_matter() -> None:
    settings = LabSettings(4000)
    turned = GAMES[:2][::-1] + GAMES[2:6][::-1] + GAMES[6:][::-1]
    assert facts(settings, summarize(GAMES), True) == facts(settings, summarize(turned), True)


def test_facts_are_json_for_any_result() -> None:
    found = facts(LabSettings(4000, "2x"), summarize(GAMES), False)
    json.loads(json.dumps(found, allow_nan=False))
    assert (found["against_budget"], found["finished"], len(found["points"])) == (8000, False, 3)
    assert [point["elo"] is None for point in found["points"]] == [False, True, False]
    assert found["points"][0]["nodes_per_move_a"] == 400


def test_the_table() -> None:
    lines = table(summarize(GAMES)).splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split()[:8] == ["split", "2", "4", "2", "1", "1", "62.5%", "+89"]
    assert "+inf" in lines[2]
    assert lines[3].split()[-4:] == ["80%", "0.0", "0.0%", "-"]
    assert table([]).startswith("strategy")
    (ponders,) = summarize([record(0, 1.0, "split+ponder=1", hits=1)])
    assert (ponders.hits, table([ponders]).split()[-1]) == (0.5, "50%")


def test_each_point_has_a_test_of_its_own() -> None:
    games = [record(number, 1.0 if number % 4 else 0.5, nodes=4) for number in range(40)] + [record(0, 1.0)]
    sprt = Sprt.parse("0,100")
    assert not undecided(games, Point("split", 4), sprt)
    assert undecided(games, Point("split", 2), sprt), "half a pair says nothing"
    assert undecided(games, Point("split", 8), sprt)
    found = facts(LabSettings(4000), summarize(games), True, sprt)
    assert [point["sprt"]["verdict"] for point in found["points"]] == ["open", "H1"]
    head, two, four = sprt_table(summarize(games), sprt).splitlines()
    assert head == "SPRT, H0 0 and H1 100 Elo; LLR from -2.94 (H0) to 2.94 (H1)"
    assert two == "  split, 2 nodes: 0.00, open"
    assert four.endswith(", H1")
    assert "sprt" not in facts(LabSettings(4000), summarize(games), True)["points"][0]
