"""The page in a real browser, over a server of this process: the facts appear on the page, and keys work."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from master.analysis.files import write_game
from master.analysis.report import ReportSettings
from master.live.facts import Fact, Teller, fleet_fact
from master.live.page import Site
from master.live.sources import facts_of
from master.player.events import GameBegan, GameEvent
from tests.master.analysis.browser import SIDEWAYS, Browser, installed
from tests.master.analysis.records import blunder_report
from tests.master.live.asked import Searcher, made
from tests.master.live.served import Served
from tests.master.live.told import HEAD
from tests.master.ui.shown import CLOCKS, GAME, SUMMARY
from tests.waiting import wait_for
from worker.shogi import STARTPOS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not installed(), reason="no browser: apt-get install chromium chromium-driver (.ci/run does)"),
]
EVIL = "<img src=x onerror=\"document.title='caught'\">"
LEFT, RIGHT, HOME, END, ESCAPE = "\ue012", "\ue014", "\ue011", "\ue010", "\ue00c"


def count(browser: Browser, css: str) -> int:
    return int(browser.run(f"return document.querySelectorAll({css!r}).length"))


class Told:
    """Sends events to a server of this process."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._teller = Teller()

    def __call__(self, *events: GameEvent) -> None:
        facts = [self._teller.tell(event, time.time()) for event in events]
        self._served.take(*[fact for fact in facts if fact is not None])

    def fleet(self, name: str, **fields: object) -> None:
        fact: Fact = fleet_fact(name, fields, time.time())
        self._served.take(fact)


def test_a_game_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    with Served() as served, Browser(tmp_path / "profile") as browser:
        told = Told(served)
        browser.resize(1440, 1250)
        browser.open(f"http://127.0.0.1:{served.port}/")
        wait_for(lambda: browser.text("#state") == "starting")
        for node in ("node-1", "node-2"):
            told.fleet("node_ready", node=node, host="vm", pid=1, engine="Gougi")
            told.fleet("node_joined", node=node, live=2)
        wait_for(lambda: count(browser, "#fleet-sum") and "2 of 2 nodes" in browser.text("#fleet-sum"))

        told(GameBegan(replace(SUMMARY, names=(EVIL, "bert")), STARTPOS, CLOCKS), *GAME[2:4])
        told.fleet("node_lost", node="node-2", reason="a test")
        wait_for(lambda: count(browser, "[data-leaf]") == 2)
        assert count(browser, "#board .piece") == 40
        assert EVIL in browser.text("#title") and browser.run("return document.title") != "caught"
        assert browser.run("return document.querySelector('#score').dataset.score") == "55"
        assert browser.text('[data-leaf="node-1"] td') == "└ ☗P-76"
        assert browser.run("return document.querySelector('[data-leaf=node-2]').className").startswith("lost")
        assert count(browser, "#board .arrow") == 1
        assert browser.text('.vote[data-move="7g7f"] .n') == "1/1"
        wait_for(lambda: "node-2 is lost: a test" in browser.text("#log"))
        clock = browser.text('[data-clock="0"]')
        wait_for(lambda: browser.text('[data-clock="0"]') != clock)

        told(*GAME[4:7])
        wait_for(lambda: count(browser, "#moves .row") == 3)
        assert browser.text('#moves [data-ply="1"] .score') == "+55"
        assert browser.run("return document.querySelector('#board .last.to').dataset.square") == "3d"
        assert browser.text('[data-figure="decided"]') == "by the split tree"
        browser.press(LEFT)
        assert browser.text("#where") == "1 ☗P-76"
        browser.press(HOME)
        assert browser.text("#where") == "start"
        assert browser.text("#search h2") == "☗ thought"
        browser.press(RIGHT)
        browser.click('#moves [data-ply="2"]')
        assert browser.run("return document.querySelector('[data-go=last]').disabled")

        told(GAME[7])
        wait_for(lambda: browser.text("#state") == "☗ wins by resignation, 2 moves")
        browser.press("u")
        assert "2000" in browser.text("#graph")
        browser.press("f")
        assert "bert" in browser.text("#plate-bottom")
        browser.press("l")
        wait_for(lambda: browser.text("#state") == "2手で☗の勝ち (投了)")
        assert browser.text("#where") == "2 ☖３四歩"
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = browser.run(ground)
        browser.emulate("dark")
        wait_for(lambda: browser.run(ground) != light)
        browser.press("t")
        assert browser.run(ground) == light, "the reader's choice overrides the system's"
        browser.resize(390, 1500)
        wait_for(lambda: browser.run(SIDEWAYS) == [390, []])
        cells = "return [...document.querySelectorAll('td')].filter((cell) => cell.offsetWidth === 0).length"
        assert count(browser, "#nodes td") == 18 and browser.run(cells) == 0, "every column is there"
        assert len(browser.picture()) > 5000
        assert browser.complaints() == []


def test_an_annotated_record_its_mistakes_and_its_keys(tmp_path: Path) -> None:
    write_game(tmp_path, "game", blunder_report(), ReportSettings("Gougi", "50000 nodes a position"))
    with Served() as served, Browser(tmp_path / "profile") as browser:
        browser.open(f"http://127.0.0.1:{served.port}/")
        served.take(*facts_of(tmp_path / "game.annotated.csa"))
        wait_for(lambda: count(browser, "#moves .row") == 5)
        assert "anna" in browser.text("#plate-bottom") and count(browser, ".plate small") == 0
        assert browser.text('#moves [data-ply="2"] .score') == "+1500" and "analysis" in browser.text("#graph h2")
        browser.press("p")
        assert browser.text("#where") == "2 ☖P-34"
        browser.press(HOME)
        browser.press("n")
        assert browser.text("#where") == "2 ☖P-34"
        browser.click("#next")
        assert browser.text("#where") == "2 ☖P-34", "it is the only one"
        browser.click("#copy")
        sfen = "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3"
        wait_for(lambda: browser.text("#copied") == f"copied: {sfen}")
        browser.press(RIGHT)
        assert browser.text("#copied") == ""
        browser.resize(390, 1500)
        wait_for(lambda: browser.run(SIDEWAYS) == [390, []])
        browser.press("?")
        assert "next, previous mistake" in browser.text("#keys")
        assert browser.complaints() == []


def cell(browser: Browser, name: str) -> None:
    """Click a square of the board, or a piece in hand."""
    browser.run(f"""document.querySelector('#board [data-cell="{name}"]').dispatchEvent(
        new MouseEvent("click", {{ bubbles: true }}))""")


def test_a_readers_own_moves_and_variations(tmp_path: Path) -> None:
    """A record, and an engine that answers: every line that it finds can be clicked through."""
    searcher = Searcher()
    write_game(tmp_path, "game", blunder_report(), ReportSettings("Gougi", "50000 nodes a position"))
    head = {**HEAD, "asks": True}
    with Served(Site(head), asker=made(searcher)) as served, Browser(tmp_path / "profile") as browser:
        browser.resize(1440, 1250)
        browser.open(f"http://127.0.0.1:{served.port}/")
        served.take(*facts_of(tmp_path / "game.annotated.csa"))
        wait_for(lambda: count(browser, "#moves .row") == 5)
        browser.press(HOME)
        browser.press("a")
        wait_for(lambda: count(browser, "#answer li") == 3)
        assert browser.text("#answer li b") == "+50"
        assert browser.text("#answer li .win") == "☗ 52%"
        assert count(browser, "#board .arrow") == 2 and count(browser, "#board .arrow.second") == 1
        browser.click("#answer li button:last-child")
        assert browser.text("#where") == "variation, move 2 from 0"
        assert browser.run("return document.querySelector('#board .last.to').dataset.square") == "3d"
        browser.press(LEFT)
        assert browser.text("#where") == "variation, move 1 from 0"
        assert count(browser, "#board .arrow") == 1, "the variation's next move"

        cell(browser, "3c")
        assert count(browser, "#board .goal") == 1
        cell(browser, "5e")
        assert count(browser, "#board .goal") == 0, "no goal of the pawn"
        for square in ("3c", "3d"):
            cell(browser, square)
        assert browser.text("#where") == "variation, move 2 from 0"
        wait_for(lambda: count(browser, "#answer .empty") or count(browser, "#answer li"))
        cell(browser, "8h")
        cell(browser, "2b")
        assert browser.text("#promote") == "promote"
        browser.click("#promote")
        assert browser.text("#where") == "variation, move 3 from 0"
        assert count(browser, "#board .piece.promoted") == 1
        wait_for(lambda: len(searcher.searched) == 3)
        assert searcher.searched[-1].split()[:3] == [
            "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL", "w", "B",
        ]  # fmt: skip
        wait_for(lambda: "there is no legal move" not in browser.text("#answer"))
        browser.press(ESCAPE)
        assert browser.text("#where") == "start"
        browser.resize(390, 1500)
        wait_for(lambda: browser.run(SIDEWAYS) == [390, []])
        assert browser.complaints() == []


def test_without_an_engine_nobody_may_move(tmp_path: Path) -> None:
    with Served() as served, Browser(tmp_path / "profile") as browser:
        told = Told(served)
        browser.open(f"http://127.0.0.1:{served.port}/")
        told(*GAME[1:4])
        wait_for(lambda: count(browser, "[data-leaf]") == 2)
        assert count(browser, "#board [data-cell]") == 0 and count(browser, "#ask") == 0
        browser.click("#pv button")
        assert browser.text("#where") == "variation, move 1 from 0"
        assert count(browser, '#pv [aria-current="true"]') == 1
        browser.click("#leave")
        assert browser.text("#where") == "start"
        assert browser.complaints() == []


PRESSED = """
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const row = document.querySelector("#moves .row");
return (async () => {
  row.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  dispatchEvent(new Event("resize"));
  await frames();
  const there = [row.isConnected];
  row.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
  await frames();
  return [...there, row.isConnected];
})();
"""


def test_scrolled_and_pressed_elements_stay_while_the_page_changes(tmp_path: Path) -> None:
    with Served() as served, Browser(tmp_path / "profile") as browser:
        told = Told(served)
        browser.open(f"http://127.0.0.1:{served.port}/")
        told(*GAME[1:3])
        for number in range(60):
            told.fleet("node_lost", node=f"node-{number}", reason="a test")
        wait_for(lambda: count(browser, "#log li") == 60)
        browser.run("document.querySelector('#log ul').scrollTop = 100")
        told(GAME[3])
        wait_for(lambda: count(browser, "[data-leaf]") == 2)
        assert browser.run("return document.querySelector('#log ul').scrollTop") == 100
        assert browser.run(PRESSED) == [True, False]
        assert browser.complaints() == []


def test_a_page_whose_server_ends_stays(tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        with Served() as served:
            told = Told(served)
            browser.open(f"http://127.0.0.1:{served.port}/")
            told(*GAME[1:])
            wait_for(lambda: count(browser, "#moves .row") == 3)
        wait_for(lambda: "wins" in browser.text("#state"))
        browser.press(HOME)
        assert browser.text("#where") == "start"
        assert browser.run("return document.querySelector('#score').dataset.score") == "55", "seen moves are kept"
        browser.press("l")
        wait_for(lambda: browser.text("#where") == "開始局面")
        assert browser.complaints() == []
