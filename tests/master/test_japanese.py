"""Messages in the user's language: every message for `say` has a Japanese text with the same fields."""

from __future__ import annotations

import ast
import io
import json
import re
import string
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from master.analysis.html import _ENDINGS as ENDINGS
from master.analysis.judgement import BANDS, Sureness
from master.ui.texts import error_words, say
from master.words import _EXPECTED as EXPECTED
from worker.files import _REASONS as REASONS
from worker.text import fitted, in_ascii, is_japanese, japanese, shows_kanji

ROOT = Path(__file__).parents[2]
MASTER = ROOT / "master"
TABLE = japanese("master")
TABLES = {**TABLE, **japanese("worker")}
PAGE = japanese("master", "page")
LIVE = japanese("master", "live")
for _package in ("master", "cluster", "worker"):
    TABLES |= japanese(_package, "errors")
REPORT = {"page_say", "terminal.say", "text", "Misfit"}
"""Calls that take a message of the analysis' report."""
BARE = {"at {address}", "{low} to {high}", "Gougi {version} with {net}", "{value} ({low} to {high})", ", "}
BARE |= {"{engine}; {effort}."}
"""Messages that are signs and fields alone in Japanese."""
ERRORS = {"CommandError", "FleetError", "LoginError", "ServerError", "CsaConnectionError", "ValueError"}
TOLD = [
    *MASTER.glob("commands/*.py"),
    *(
        ROOT / "cluster" / "drivers" / f"{name}.py"
        for name in ("fleet_driver", "ray_cluster", "ray_process", "ray_survey")
    ),
    *(MASTER / name for name in ("csa/login.py", "csa/client.py", "practice/server.py", "cloud/player.py")),
    *(ROOT / "worker" / "usi" / name for name in ("options.py", "words.py")),
]
"""Files whose errors a command or a GUI shows in one line."""
_PLACE = re.compile(r"--[a-z-]+|\[[a-z]+\]|^[a-z]+: W$|W")
"""The part of an error that names the place, which is the same in all languages."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def messages() -> set[str]:
    """The texts that the code gives to `say` and `later`."""
    found = set()
    for path in MASTER.rglob("*.py"):
        tree = parsed(path)
        if not any(isinstance(node, ast.ImportFrom) and node.module == "master.ui.texts" for node in ast.walk(tree)):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("say", "later"):
                (first, *_) = node.args
                assert not isinstance(first, ast.JoinedStr), f"{path}: an f-string has no Japanese"
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def page_messages() -> set[str]:
    """The texts for `say` of the analysis' HTML page, and those of the report that the code gives to `page_say` or to a
    function named ``text``."""
    found = {*BANDS, *ENDINGS.values(), *(kind.value for kind in Sureness)}  # by their names
    for path in (MASTER / "analysis" / "page").glob("*.js"):
        for quoted in re.findall(r'\bsay\(("(?:[^"\\]|\\.)*")', path.read_text(encoding="utf-8")):
            found.add(json.loads(quoted))
    for path in (*(MASTER / "analysis").glob("*.py"), MASTER / "commands" / "analyze.py"):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in REPORT:
                continue
            if isinstance(node.args[0], ast.Constant):
                found.add(str(node.args[0].value))
    return found


def live_messages() -> set[str]:
    """The texts that the live page gives to its `say` and `later`."""
    return {
        str(json.loads(quoted))
        for path in (MASTER / "live" / "static").glob("*.js")
        for quoted in re.findall(r'\b(?:say|later)\(("(?:[^"\\]|\\.)*")', path.read_text(encoding="utf-8"))
    }


def own_messages(package: str) -> set[str]:
    """The texts that the code of a package gives to its own catalogue."""
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "_WORDS.text":
                found.add(ast.literal_eval(node.args[0]))
    return found


def errors() -> Iterator[str]:
    """Possible errors: the texts that the code composes, with a word for each field."""
    yield from (words.format_map(defaultdict(lambda: "W")) for words in EXPECTED.values())
    yield from REASONS.values()
    for path in TOLD:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ERRORS and node.args:
                text = sample(node.args[0])
                if re.search("[a-z]{3}", _PLACE.sub("", text)):
                    yield text


def sample(node: ast.expr) -> str:
    """A text of that form; empty: it is composed elsewhere."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(value.value if isinstance(value, ast.Constant) else "W" for value in values)
        case ast.BinOp(left, ast.Add(), right):
            return sample(left) + sample(right)
    return ""


def fields(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name is not None}


def test_every_message_has_its_japanese_and_no_other_is_there() -> None:
    assert messages() == set(TABLE)


def test_every_message_of_the_page_has_its_japanese_and_no_other_is_there() -> None:
    assert page_messages() == set(japanese("master", "page"))


def test_every_message_of_the_live_page_has_its_japanese_and_no_other_is_there() -> None:
    assert live_messages() == set(LIVE)


def test_the_single_engine_speaks_it_too() -> None:
    assert own_messages("worker") == set(japanese("worker"))


def test_the_fields_agree() -> None:
    for message, words in {*TABLES.items(), *PAGE.items(), *LIVE.items()}:
        assert fields(words) == fields(message)
        assert has_japanese(words) or message in BARE, message


def has_japanese(text: str) -> bool:
    return any(unicodedata.name(sign, "").startswith(("CJK", "KATAKANA", "HIRAGANA")) for sign in text)


@pytest.mark.usefixtures("_in_japanese")
def test_every_error_has_its_japanese() -> None:
    assert [line for line in sorted(set(errors())) if not has_japanese(error_words(line))] == []


@pytest.mark.usefixtures("_in_japanese")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--file: x: y.txt: no such file", "--file: x: y.txt: ファイルがありません"),
        ("no such file; the same command goes on", "ファイルがありません。同じコマンドで続きから再開します"),
        (
            "no Ray cluster at 10.0.0.1:6379: its token is not ours (RAY_AUTH_TOKEN)",
            "Rayのクラスタ (10.0.0.1:6379) に入れません: トークンが違います (RAY_AUTH_TOKEN)",
        ),
        ("what nobody has put into words", "what nobody has put into words"),
    ],
)
def test_an_error_is_told_by_its_form(line: str, told: str) -> None:
    assert error_words(line) == told
    assert error_words(line, "ascii") == line


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
def test_a_terminal_without_kanji_gets_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert say("Ray runs") == "Ray runs"


def test_signs_in_ascii() -> None:
    assert in_ascii("☗７六歩(77) ☖同銀不成 ☗５五馬打") == "+76P(77) -xS= +55+B*"
    assert fitted("☗７六歩", "utf-8") == "☗７六歩" and fitted("☗７六歩", "ascii") == "+76P"
    assert shows_kanji("utf-8") and not shows_kanji("latin-1") and not shows_kanji(None)
