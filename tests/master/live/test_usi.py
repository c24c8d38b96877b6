"""A GUI's session as facts."""

from __future__ import annotations

from dataclasses import replace

from cluster.api import SearchRequest, StartSearch
from master.live.facts import UsiTeller
from master.live.page import Site
from master.usi.options import Event, FleetEvent, Instruction
from tests.master.live.told import HEAD
from tests.master.ui.shown import DECISION, PROGRESS
from worker.shogi import STARTPOS
from worker.usi.events import GuiLine

GO = "go btime 60000 wtime 50000 binc 1000 winc 1000"


def shown(*session: Event | Instruction) -> Site:
    teller, site = UsiTeller("Gougi"), Site(HEAD)
    for at, what in enumerate(session):
        for fact in teller.tell(what, float(at)):
            site.take(fact)
    return site


def start(search_id: int, *moves: str, sfen: str = STARTPOS) -> StartSearch:
    return StartSearch(SearchRequest(search_id, sfen, moves, 1000, 3000))


def test_a_game_of_a_gui() -> None:
    site = shown(
        GuiLine(GO, 0.0),
        start(1),
        PROGRESS,
        DECISION,
        GuiLine("go btime 58000 wtime 47000 binc 1000 winc 1000", 0.0),
        start(2, "7g7f", "3c3d"),
        GuiLine("gameover win", 0.0),
    )
    assert len(site.games) == 1
    game = site.section("game", "1")
    assert game["names"] == ["Gougi", ""] and game["mine"] == 0
    assert [(move["usi"], move["mine"], move["score"]) for move in game["moves"]] == [
        ("7g7f", True, 55),
        ("3c3d", False, None),
    ]
    assert game["clocks"]["left_ms"] == [58_000, 47_000] and game["clocks"]["turn"] == 0
    assert game["times"][0]["increment_ms"] == 1000
    assert (game["result"]["conclusion"], game["result"]["winner"]) == ("WIN", 0)
    assert [view["node"] for view in site.details("1", 0)[0]["fleet"]] == ["node-1", "node-2"]  # type: ignore[index]


def test_as_white() -> None:
    game = shown(start(1, "7g7f"), replace(DECISION, move="3c3d")).section("game", "1")
    assert (game["mine"], game["names"]) == (1, ["", "Gougi"])


def test_an_analysis_move_by_move_shows_the_search_that_runs() -> None:
    site = shown(start(1), PROGRESS, DECISION, start(2, "7g7f"), replace(PROGRESS, search_id=2, nodes=4321))
    assert len(site.games) == 1
    game = site.section("game", "1")
    assert (game["mine"], game["searches"]) == (0, 1)
    running = site.section("thoughts", "1")["thoughts"][1]
    assert running is not None and not running["done"]
    assert site.fleet.section()["searching"]


def test_another_position_is_another_game() -> None:
    white = STARTPOS.replace(" b ", " w ")
    site = shown(start(1, "7g7f"), start(2, "2g2f"), start(3, "2g2f", "8c8d"), start(4, sfen=white))
    assert list(site.games) == ["1", "2", "3"]
    assert [move["usi"] for move in site.section("game", "2")["moves"]] == ["2g2f", "8c8d"]
    assert site.section("game", "3")["mine"] == 1


def test_the_fleet_and_the_guis_lines() -> None:
    site = shown(
        *(
            GuiLine(text, 0.0)
            for text in ("usi", "", "go", "go infinite", "go btime x wtime", "gameover", "gameover win")
        ),
        FleetEvent("node_joined", {"node": "node-1", "live": 1}),
    )
    assert not site.games
    assert [node["state"] for node in site.section("fleet", None)["nodes"]] == ["ready"]
