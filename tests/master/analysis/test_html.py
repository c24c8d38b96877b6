from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from master.analysis.html import game_page, summary_page
from master.analysis.report import ReportSettings, facts, player_facts, players, report
from tests.master.analysis.records import MATE, blunder_report, evaluated, game

SETTINGS = ReportSettings("Gougi", "50000 nodes a position")
EVIL = "</script><script>document.title='caught'</script><b>{{data}}"


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


def test_the_data_of_a_game() -> None:
    data = data_of(game_page(blunder_report(), SETTINGS))
    assert data["names"] == ["anna", "bert & <son>"]
    assert data["result"] == "☖ wins by resignation"
    assert [move["text"] for move in data["moves"]] == ["☗７六歩", "☖３四歩", "☗２二角成", "☖同銀"]
    blunder = data["moves"][1]
    assert (blunder["quality"], blunder["name"], blunder["own"], blunder["ms"]) == ("mistake", "mistake", -40, 12000)
    assert data["positions"][1]["words"] == ["☖８四歩", "☗２六歩"]
    assert [position["cp"] for position in data["positions"]] == [40, 30, 1500, 1500, 1480]
    assert data["turning"] == [2]


def test_the_page_loads_nothing_and_a_name_is_no_more_than_a_name() -> None:
    whole = blunder_report()
    whole = replace(whole, game=replace(whole.game, names=(EVIL, "b"), event=EVIL))
    page = game_page(whole, SETTINGS)
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert page.count("</script>") == page.count("<script") == 2
    assert data_of(page)["names"][0] == EVIL
    assert "{{style}}" not in page and "{{script}}" not in page


def test_the_page_of_several_games() -> None:
    one = blunder_report()
    data = data_of(summary_page([(one, "a.html"), (one, "b.html")], players([one, one], None), SETTINGS))
    assert [game["page"] for game in data["games"]] == ["a.html", "b.html"]
    assert [(player["name"], player["games"], player["moves"]) for player in data["players"]] == [
        ("anna", 2, 4),
        ("bert & <son>", 2, 4),
    ]


def test_a_player_without_a_judged_move_has_no_accuracy_and_one_game_counts_once() -> None:
    of = replace(game(MATE), names=("anna", "anna"))
    points, found = evaluated(of, {})
    one = report(of, points, found, None)
    (both,) = players([one], None)
    assert both.statistics.games == 1
    assert [player_facts(each)["accuracy"] is None for each in one.players] == [False, True]
    data = data_of(summary_page([(one, "a.html")], (both,), SETTINGS))
    assert data["games"][0]["accuracy"][1] is None


def test_facts_are_json_without_infinity() -> None:
    found = json.loads(json.dumps(facts(blunder_report()), allow_nan=False))
    assert found["moves"][1]["loss"] == 0.4116
    assert found["winner"] == "white"
    assert found["players"][1]["counts"]["mistake"] == 1
