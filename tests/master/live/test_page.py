"""The page's state: facts in, sections out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.live.facts import Teller, fleet_fact
from master.live.page import ENDED_KEPT, Cursor, Site
from master.player.events import GameBegan, ThinkingBegan
from tests.answers import root_line
from tests.master.live.told import HEAD, facts, site
from tests.master.ui.shown import CLOCKS, DECISION, GAME, PROGRESS, SUMMARY, move_played
from worker.shogi import STARTPOS


def test_a_whole_game() -> None:
    found = site()
    assert found.key("latest") == "1"
    game = found.section("game", "1")
    assert game["names"] == ["anna", "bert"] or game["names"] == ("anna", "bert")
    assert [(move["usi"], move["colour"], move["ms"]) for move in game["moves"]] == [
        ("7g7f", 0, 1000),
        ("3c3d", 1, 1000),
    ]
    assert game["moves"][0]["score"] == 55, "the search's, if the event has none"
    assert game["moves"][0]["source"] == "split"
    assert game["result"] == {"conclusion": "WIN", "reason": "RESIGN", "winner": 0, "plies": 2, "record": ""}
    assert game["clocks"]["stopped_at"] == 1007
    assert [entry["plies"] for entry in found.section("games", None)["games"]] == [2]


def test_a_search_while_it_runs_and_after_it() -> None:
    running = site(*GAME[:4]).section("thoughts", "1")["thoughts"]
    assert running[1] is None
    assert (running[0]["ply"], running[0]["depth"], running[0]["score"], running[0]["done"]) == (0, 14, 55, False)
    assert running[0]["soft_ms"] == 900
    assert [(view["node"], view["job"], view["alive"]) for view in running[0]["fleet"]] == [
        ("node-1", "7g7f", True),
        ("node-2", "others", False),
    ]
    done = site(*GAME[:5]).details("1", 0)
    assert done is not None and done[0] is not None
    assert (done[0]["done"], done[0]["source"], done[0]["began"]) == (True, "split", 1002)
    assert done[0]["ballots"] == [
        {"voter": "node-1", "move": "7g7f", "score": 55, "depth": 14, "nodes": 0, "members": 1}
    ]


def test_the_age_of_a_nodes_report() -> None:
    """It counts from the last report that differed from the one before."""
    same = replace(PROGRESS, elapsed_ms=1900)
    deeper = replace(PROGRESS.fleet[0], depth=15, nodes=2_000_000)
    other = replace(PROGRESS, fleet=(deeper, PROGRESS.fleet[1]))
    thought = site(*GAME[:4], same, other).section("thoughts", "1")["thoughts"][0]
    assert thought["heard"] == {"node-1": 1005, "node-2": 1003}


def test_the_opponents_thoughts_if_it_runs_here_too() -> None:
    found = site(*GAME[:6])
    opponent = Teller(thoughts_only=True)
    events = (
        GameBegan(replace(SUMMARY, my_colour=1), STARTPOS, CLOCKS),
        ThinkingBegan(1, 1, 900, 2000, CLOCKS),
        replace(DECISION, move="3c3d", lines=(root_line(30, 14, ("3c3d",)),)),
    )
    told = [opponent.tell(event, 1010.0) for event in events]
    assert told[0] is None, "only the shown player reports the start of the game"
    for fact in told[1:]:
        assert fact is not None
        found.take(fact)
    fact = Teller().tell(GAME[6], 1011)
    assert fact is not None
    found.take(fact)
    assert found.section("game", "1")["moves"][1]["score"] == -30
    assert found.section("fleet", None)["nps"] == 612_345, "the opponent's speed is not the fleet's"


def test_the_fleet() -> None:
    found = Site(HEAD)
    for at, (name, fields) in enumerate(
        [
            ("ray_starting", {}),
            ("ray_started", {"address": "10.0.0.1:6379", "capacity": {}}),
            ("node_starting", {"node": "node-2"}),
            ("node_ready", {"node": "node-2", "host": "b", "pid": 7, "engine": "Gougi"}),
            ("node_joined", {"node": "node-2", "live": 1}),
            ("node_joined", {"node": "node-10", "live": 2}),
            ("node_joined", {"node": "fallback", "live": 2}),
            ("dealt", {"why": "node-2 is lost", "leaves": {"node-10": "7g7f"}}),
            ("shared", {"entries_in": 50, "used_share": 0.5}),
            ("ponder_hit", {"search_id": 4}),
            ("node_lost", {"node": "node-2", "reason": "its process died", "live": 1}),
        ]
    ):
        found.take(fleet_fact(name, fields, 100.0 + at))
    fleet = found.section("fleet", None)
    assert fleet["ray"] == {"state": "running", "address": "10.0.0.1:6379"}
    assert [(node["node"], node["state"], node["lost"], node["since"]) for node in fleet["nodes"]] == [
        ("node-2", "lost", 1, 110),
        ("node-10", "ready", 0, 105),
    ]
    assert (fleet["losses"], fleet["deals"], fleet["ponder"]) == (1, 1, {"hits": 1, "misses": 0})
    assert fleet["last_losses"] == [{"at": 110, "node": "node-2", "why": "its process died"}]
    assert fleet["shared"]["used_share"] == 0.5
    names = [entry["name"] for entry in found.section("log", None)["entries"]]
    assert names == [
        "ray_starting",
        "node_starting",
        "node_ready",
        "node_joined",
        "node_joined",
        "node_joined",
        "dealt",
        "ponder_hit",
        "node_lost",
    ]


def test_quick_searches_reach_a_viewer_that_missed_them() -> None:
    """Near a mate both sides answer at once, sooner than the next message leaves."""
    found = site(*GAME[:4])
    cursor = Cursor("latest")
    cursor.next(found)
    ours, theirs = move_played(1, "7g7f", "+7776FU"), move_played(2, "3c3d", "-3334FU", "7g7f")
    turns = range(ENDED_KEPT + 2)
    events = [e for n in turns for e in (GAME[4], replace(ours, ply=2 * n + 1), replace(theirs, ply=2 * n + 2))]
    for fact in facts((GAME[1], *events), begin=2000)[1:]:
        found.take(fact)
    assert "ended" in cursor.next(found)[1]
    ended = found.section("ended", "1")["ended"]
    assert [thought["ply"] for _, thought in ended] == [2 * n for n in range(2, ENDED_KEPT + 2)]
    assert all(thought["done"] for _, thought in ended)
    found.take(facts((GAME[1], GAME[2]), begin=3000)[1])
    assert "ended" not in cursor.next(found)[1], "a search that begins sends nothing again"


def test_a_cursor_gives_the_news() -> None:
    found = site(*GAME[:4])
    cursor = Cursor("latest")
    assert cursor.lags(found)
    key, names = cursor.next(found)
    assert key == "1" and set(names) == {"fleet", "log", "games", "game", "thoughts", "ended"}
    assert cursor.next(found) == ("1", []) and not cursor.lags(found)
    for fact in facts((GAME[1], *GAME[4:6]), begin=2000)[1:]:
        found.take(fact)
    assert cursor.lags(found)
    assert set(cursor.next(found)[1]) == {"game", "thoughts", "ended", "fleet"}


def test_a_cursor_follows_the_games_or_stays() -> None:
    found = site()
    follows, stays, lost = Cursor("latest"), Cursor("1"), Cursor("9")
    for cursor in (follows, stays, lost):
        cursor.next(found)
    for fact in facts(GAME[:2], begin=3000):
        found.take(fact)
    key, names = follows.next(found)
    assert key == "2" and {"game", "thoughts"} <= set(names), "all of the new game, for any versions of the old one"
    assert stays.next(found) == ("1", ["games"])
    assert lost.next(found) == (None, ["games"])


@pytest.mark.parametrize(
    "fact", [{"fact": "move", "at": 1.0}, {"fact": "ended", "at": 1.0}, {"fact": "new", "at": 1.0}]
)
def test_events_before_a_game_are_left_out(fact: dict[str, object]) -> None:
    found = Site(HEAD)
    found.take(fact)
    assert found.latest is None
