"""Messages in the user's language: every one that `say` is given has its Japanese, with the same fields."""

from __future__ import annotations

import ast
import io
import string
import sys
import unicodedata
from pathlib import Path

import pytest

from master.events import Conclusion, GameOutcome
from master.ui.endings import result_words
from master.ui.texts import say
from master.usi.report import event_line
from worker.text import fitted, in_ascii, is_japanese, japanese, shows_kanji

MASTER = Path(__file__).parents[2] / "master"
TABLE = japanese("master")


def messages() -> set[str]:
    """What the code gives to `say` and `later`."""
    found = set()
    for path in MASTER.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not any(isinstance(node, ast.ImportFrom) and node.module == "master.ui.texts" for node in ast.walk(tree)):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("say", "later"):
                (first, *_) = node.args
                assert not isinstance(first, ast.JoinedStr), f"{path}: an f-string has no Japanese"
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def fields(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name is not None}


def test_every_message_has_its_japanese_and_no_other_is_there() -> None:
    assert messages() == set(TABLE)


@pytest.mark.parametrize("message", sorted(TABLE))
def test_the_fields_agree(message: str) -> None:
    assert fields(TABLE[message]) == fields(message)
    assert any("CJK" in unicodedata.name(sign, "") or "KANA" in unicodedata.name(sign, "") for sign in TABLE[message])


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"LANG": "ja_JP.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ja_JP.UTF-8"}, True),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, True),
        ({}, False),
    ],
)
def test_the_locale_decides(environment: dict[str, str], wanted: bool) -> None:
    assert is_japanese(environment) is wanted


@pytest.fixture
def _in_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")


@pytest.mark.usefixtures("_in_japanese")
def test_a_result_in_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = GameOutcome(Conclusion.WIN, "RESIGN", winner=0, plies=87)
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert result_words(outcome, ("anna", "bert")) == "☗ anna の勝ち (投了、87手)"


@pytest.mark.usefixtures("_in_japanese")
def test_a_terminal_without_kanji_gets_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert say("starting Ray") == "starting Ray"


def test_signs_in_ascii() -> None:
    assert in_ascii("☗７六歩(77) ☖同銀不成 ☗５五馬打") == "+76P(77) -xS= +55+B*"
    assert fitted("☗７六歩", "utf-8") == "☗７六歩" and fitted("☗７六歩", "ascii") == "+76P"
    assert shows_kanji("utf-8") and not shows_kanji("latin-1") and not shows_kanji(None)


@pytest.mark.usefixtures("_in_japanese")
def test_what_a_gui_is_told_in_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    lost = {"node": "node-2", "reason": "not heard of\nfor 800 ms", "live": 1}
    line = event_line("node_lost", lost, opening=False)
    assert line == "info string node-2 を失いました: not heard of。ノード数: 1"
    assert event_line("ray_starting", {}, opening=True) == "info string Rayを起動しています"
    assert event_line("ray_starting", {}, opening=False) == "", "in a game it is no news"
