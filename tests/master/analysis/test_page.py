"""The report in a real browser: it opens from the disk, and its controls work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from master.analysis.html import game_page, summary_page
from master.analysis.report import ReportSettings, players
from tests.master.analysis.browser import SIDEWAYS, Browser, installed
from tests.master.analysis.records import blunder_report

SETTINGS = ReportSettings("Gougi", "50000 nodes a position")
EVIL = "<img src=x onerror=\"document.title='caught'\">{{data}}</script>"


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="no browser: apt-get install chromium chromium-driver (.ci/run does)")
def test_the_report_in_chromium(tmp_path: Path) -> None:
    report = blunder_report()
    report = replace(report, game=replace(report.game, names=(EVIL, report.game.names[1])))
    page, index = tmp_path / "game.html", tmp_path / "index.html"
    page.write_text(game_page(report, SETTINGS), encoding="utf-8")
    index.write_text(summary_page([(report, page.name)], players([report], None), SETTINGS), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(index)
        assert "1 games" in browser.text("h1")
        browser.click("td a")
        assert EVIL in browser.text("h1")
        assert browser.run("return document.title") != "caught", "a name has become a script"

        assert browser.text(".judgement h3") == "2. ☖３四歩", "it opens at the first turning point"
        assert "mistake: loses 41% (1470 cp)" in browser.text(".judgement")
        assert browser.text(".controls .where") == "2 / 4"

        browser.click('.moves [data-ply="3"]')
        assert browser.text(".judgement h3") == "3. ☗２二角成"
        assert browser.run("return location.hash") == "#3"
        pieces = "return [...document.querySelectorAll('.board text')].map(text => text.textContent).join('')"
        assert browser.run(pieces).count("馬") == 1
        assert browser.run(pieces).count("角") == 1, "the captured bishop is in hand"

        browser.press("\ue012")  # arrow left
        assert browser.text(".judgement h3") == "2. ☖３四歩"
        browser.click(".judgement .pv:last-child button:last-child")
        assert browser.text(".controls .where") == "variation, move 2 from 2"
        assert browser.run(pieces).count("馬") == 0, "the second move of the variation captures it"

        browser.click("svg.score")
        assert browser.text(".controls .where") == "2 / 4", "the middle of the graph"
        browser.click('[aria-pressed="false"]')
        assert "2000" in browser.text("svg.score")
        assert browser.run("return document.querySelectorAll('svg.time rect').length") == 4

        browser.press("p")
        browser.press("n")
        assert browser.text(".controls .where") == "2 / 4", "there is one bad move"
        signs = "[...document.querySelectorAll('.board text')].map(text => text.textContent)"
        corner = f"return {signs}.find(sign => '１９'.includes(sign))"
        assert browser.run(corner) == "９"
        browser.press("f")
        assert browser.run(corner) == "１", "the board is flipped"
        browser.click('[data-key="c"]')
        wait = (
            "return new Promise((done) => setTimeout(() => done(document.querySelector('.copied').textContent), 300))"
        )
        sfen = "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3"
        assert browser.run(wait) == f"copied: {sfen}"
        assert browser.run("return sfenOf(parseSfen(data.positions[4].sfen), 0, 5)") == report.points[4].sfen

        for file in (page, index):
            browser.resize(390, 900)
            browser.open(file)
            assert browser.run(SIDEWAYS) == [390, []], file.name
            cells = "return [...document.querySelectorAll('td')].filter((cell) => cell.offsetWidth === 0).length"
            assert browser.run(cells) == 0, "every column is there"
        assert browser.complaints() == []
