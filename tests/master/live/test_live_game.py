"""A whole live game in a browser: `gougi play` with real nodes, its page in a real browser, checked against the log.

With ``PICTURES`` set to a folder, the game is longer and has more nodes, and the pictures of docs/how-to/live-page.md
are written there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from master.live.page import Site
from tests.master.analysis.browser import Browser, installed
from tests.master.command import Running
from tests.master.live.told import read_whole
from tests.waiting import wait_for
from worker.score import MATE, MATE_BOUND

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not installed(), reason="no browser: apt-get install chromium chromium-driver (.ci/run does)"),
]
CONTESTED = 600
"""Centipawns up to which a game is open."""
LEFT, RIGHT, HOME, END = "\ue012", "\ue014", "\ue011", "\ue010"
NODES, MOVES = (4, 256) if "PICTURES" in os.environ else (2, 14)


def rows(browser: Browser) -> list[list[str]]:
    """The page's list of moves: number, move, score, time."""
    found: list[list[str]] = browser.run(
        "return [...document.querySelectorAll('#moves .row')].slice(1)"
        ".map(row => [...row.children].map(cell => cell.textContent))"
    )
    return found


def score_text(score: int | None) -> str:
    if score is None:
        return "–"
    if abs(score) >= MATE_BOUND:
        return f"{'☗' if score > 0 else '☖'} mates in {MATE - abs(score)}"
    return ("+" if score > 0 else "−" if score < 0 else "±") + str(abs(score))


@pytest.fixture
def playing(tmp_path: Path) -> Iterator[Running]:
    words = ("play", "--plain", "--page", "0", "--nodes", str(NODES), "--time", "2+1", "--max-moves", str(MOVES))
    running = Running([*words, "--records", "records"], tmp_path, env={"GOUGI_PAGE_LISTEN": "127.0.0.1:0"})
    try:
        yield running
    finally:
        running.kill()


def test_a_whole_live_game(playing: Running, tmp_path: Path) -> None:
    url = playing.wait_for("live page: ").partition("live page: ")[2]
    with Browser(tmp_path / "profile") as browser:
        browser.resize(1440, 1250)
        browser.open(url)
        wait_for(lambda: browser.run("return document.querySelectorAll('#board .piece').length") == 40)
        wait_for(lambda: browser.run("return document.querySelectorAll('[data-leaf]').length") == NODES)
        assert browser.run("return document.querySelector('.plate.turn') !== null")
        wait_for(lambda: len(rows(browser)) >= 3)
        _stepping(browser)
        wait_for(lambda: "live" not in browser.text("#state"), 700)
        assert playing.end() in (0, 1), playing.output
        site = read_whole(next((tmp_path / "records").glob("gougi-*.jsonl")))
        _as_logged(browser, site)
        _figures(browser, site)
        _looks(browser, site, tmp_path)
        assert browser.complaints() == []
    assert playing.left_behind() == {}


def _stepping(browser: Browser) -> None:
    """By keys and clicks while the game runs: the page stays where the reader is, and comes back to the game."""

    def stands_at(where: str) -> bool:
        return browser.text("#where").split()[:1] == [where]

    browser.press(HOME)
    wait_for(lambda: stands_at("start"))
    assert browser.run("return document.querySelectorAll('#board .last').length") == 0
    browser.press(RIGHT)
    wait_for(lambda: stands_at("1"))
    wait_for(lambda: browser.run("return document.querySelectorAll('[data-leaf]').length") >= 1)
    before = len(rows(browser))
    # On a loaded machine the game may be over before the browser has come so far.
    wait_for(lambda: len(rows(browser)) > before or "live" not in browser.text("#state"))
    assert stands_at("1"), "moves come, the reader stays"
    browser.click('#moves [data-ply="2"]')
    wait_for(lambda: stands_at("2"))
    browser.press(LEFT)
    wait_for(lambda: stands_at("1"))
    browser.press(END)
    wait_for(lambda: browser.run("return document.querySelector('[data-go=last]').disabled"))


def _as_logged(browser: Browser, site: Site) -> None:
    game = site.section("game", "1")
    wait_for(lambda: len(rows(browser)) == len(game["moves"]))
    assert len(game["moves"]) > 6
    for row, move in zip(rows(browser), game["moves"], strict=True):
        assert row[0] == str(move["ply"])
        assert row[2] == score_text(move["score"]), move
        assert row[3] == f"{move['ms'] / 1000:.1f} s"
    last = game["moves"][-1]["usi"]
    assert browser.run("return document.querySelector('#board .last.to').dataset.square") == last[2:4]
    held: list[str] = browser.run(
        "return [...document.querySelectorAll('#board [data-hand]')].map(piece => piece.dataset.hand)"
    )
    on_board = browser.run("return document.querySelectorAll('#board .piece:not([data-hand])').length")
    assert on_board + sum(int(re.findall(r"\d+$", hand)[0]) for hand in held) == 40

    mine = game["mine"]
    searched = [move for move in game["moves"] if move["colour"] == mine and move["source"] in ("vote", "split")]
    assert searched
    for move in searched[-3:]:
        browser.click(f'#moves [data-ply="{move["ply"] - 1}"]')
        details = site.details("1", move["ply"] - 1)
        assert details is not None
        thought = details[mine]
        assert thought is not None
        assert browser.run("return document.querySelector('#score').dataset.score") == str(thought["score"])
        assert browser.run("return document.querySelector('[data-figure=depth]').textContent") == str(thought["depth"])
        leaves = browser.run(
            "return [...document.querySelectorAll('[data-leaf]')]"
            ".map(row => [row.dataset.leaf, row.children[3].textContent])"
        )
        assert leaves == [[view["node"], score_text(view["score"])] for view in thought["fleet"]]
        votes = {ballot["move"]: 0 for ballot in thought["ballots"]}
        for ballot in thought["ballots"]:
            votes[ballot["move"]] += ballot["members"]
        total = sum(votes.values())
        shown = browser.run(
            "return Object.fromEntries([...document.querySelectorAll('.vote')]"
            ".map(row => [row.dataset.move, row.querySelector('.n').textContent]))"
        )
        assert shown == {name: f"{count}/{total}" for name, count in votes.items()}
    browser.press(END)


def _figures(browser: Browser, site: Site) -> None:
    fleet = site.section("fleet", None)
    nodes = browser.run("return [...document.querySelectorAll('[data-node]')].map(row => row.dataset.node)")
    assert nodes == [node["node"] for node in fleet["nodes"]] == [f"node-{number}" for number in range(1, NODES + 1)]
    assert f"{NODES} of {NODES} nodes" in browser.text("#fleet-sum")
    assert fleet["shared"] is not None
    assert browser.text('[data-figure="least depth"]') == str(fleet["shared"]["min_depth"])
    events = browser.run("return [...document.querySelectorAll('#log li')].map(row => row.dataset.event)")
    assert {"node_joined", "node_ready", "node_starting"} <= set(events)
    points = browser.run("return Number(document.querySelector('.curve.ours').dataset.points)")
    game = site.section("game", "1")
    assert points == sum(move["score"] is not None for move in game["moves"] if move["colour"] == game["mine"])
    assert browser.run("return document.querySelectorAll('.curve.theirs').length") == 1


def _most_divided(site: Site) -> int:
    """The ply of our move with the widest disagreement of the nodes while the game was open, except the first and last
    ones."""
    game = site.section("game", "1")
    found = {}
    for move in game["moves"][4:-2]:
        details = site.details("1", move["ply"] - 1)
        thought = details[game["mine"]] if details is not None and move["colour"] == game["mine"] else None
        contested = thought is not None and thought["score"] is not None and abs(thought["score"]) < CONTESTED
        if contested and thought["ballots"]:
            members = [ballot["members"] for ballot in thought["ballots"] if ballot["move"] == move["usi"]]
            found[move["ply"]] = sum(members) / sum(ballot["members"] for ballot in thought["ballots"])
    return min(found, key=lambda ply: (found[ply], -ply), default=len(game["moves"]))


def _looks(browser: Browser, site: Site, folder: Path) -> None:
    """Light, dark, on a phone, in Japanese: nothing overflows, and each gives a picture."""
    pictures = {}
    divided = _most_divided(site) - 1
    browser.click(f'#moves [data-ply="{divided}"]')
    assert browser.text("#where").split()[0] == str(divided)
    pictures["light"] = browser.picture()
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    browser.emulate("dark")
    dark = wait_for(lambda: browser.run(ground) != light and browser.run(ground))
    pictures["dark"] = browser.picture()
    browser.press("t")
    assert browser.run(ground) == light, "the reader's choice overrides the system's"
    browser.press("t")
    assert browser.run(ground) == dark
    browser.press("t")
    browser.emulate("light")
    browser.click("#language")
    wait_for(lambda: "投票" in browser.text("#votes"))
    assert browser.run("return document.documentElement.lang") == "ja"
    browser.resize(390, 1500)
    wait_for(lambda: browser.run("return document.documentElement.scrollWidth") <= 390)
    pictures["phone"] = browser.picture()
    browser.press("l")
    wait_for(lambda: "votes" in browser.text("#votes"))
    where = Path(os.environ["PICTURES"]) if "PICTURES" in os.environ else folder
    for name, picture in pictures.items():
        assert picture[8:12] == b"WEBP"
        (where / f"live-{name}.webp").write_bytes(picture)
    assert sum(map(len, pictures.values())) < 200_000
