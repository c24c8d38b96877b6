"""The folder: settings, openings, the log of games, and the remains of a crash."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from lab.match.folder import from_line, to_line
from lab.strategies.records import GameResult, LabFolder
from lab.strategies.settings import LabError, LabSettings
from tests.lab.strategies.games import record
from worker.shogi import STARTPOS

SETTINGS = LabSettings(4000)


@pytest.fixture
def folder(tmp_path: Path) -> LabFolder:
    found = LabFolder(tmp_path / "deep" / "lab")
    with found.held():
        assert found.begin(asdict(SETTINGS), "one") == ""
    return found


def test_games_come_back_as_they_were(folder: LabFolder) -> None:
    assert folder.read() == ([], "")
    games = [record(0, 1.0, votes=3, agreement=2.25), record(1, 0.5, nodes=16), record(0, 0.0, "consult")]
    for game in games:
        folder.append(game)
    assert folder.read() == (games, "")


@pytest.mark.parametrize("lost", [1, 2, 20, 100])
def test_a_last_line_that_a_crash_cut_off_is_dropped(folder: LabFolder, lost: int) -> None:
    folder.append(record(0, 1.0))
    whole = folder.results.read_bytes()
    folder.append(record(1, 1.0))
    folder.results.write_bytes(folder.results.read_bytes()[:-lost])
    records, notice = folder.read()
    assert records == [record(0, 1.0)]
    assert "the last line was damaged and is dropped" in notice
    assert folder.results.read_bytes() == whole
    folder.append(record(1, 0.0))
    assert folder.read() == ([record(0, 1.0), record(1, 0.0)], "")


def test_a_last_line_of_other_bytes_is_dropped(folder: LabFolder) -> None:
    folder.append(record(0, 1.0))
    with folder.results.open("ab") as file:
        file.write(b"\0\0\xff\xfe\n")
    assert folder.read()[0] == [record(0, 1.0)]
    assert folder.read() == ([record(0, 1.0)], "")


def test_other_damage_is_an_error_that_names_the_line(folder: LabFolder) -> None:
    folder.append(record(0, 1.0))
    good = folder.results.read_text()
    folder.results.write_text(good + "nonsense\n" + good)
    with pytest.raises(LabError, match=r"games\.jsonl, line 2: not the line of a game"):
        folder.read()
    folder.results.write_text(good + good + good)
    with pytest.raises(LabError, match=r"line 2: split, 2 nodes, game 0 again"):
        folder.read()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"points": 0.7}, "0, 0.5 or 1"),
        ({"points": "1"}, r"Expected `float`, got `str` - at `\$.points`"),
        ({"a": {"moves": "1"}}, r"Expected `int`, got `str` - at `\$.a.moves`"),
        ({"moves": None}, r"Expected `array`, got `null` - at `\$.moves`"),
    ],
)
def test_a_line_is_checked(change: dict[str, object], words: str) -> None:
    plain = json.loads(to_line(record(0, 1.0))) | change
    with pytest.raises(ValueError, match=words):
        from_line(json.dumps(plain), GameResult)
    with pytest.raises(ValueError, match="Expected `object`, got `array`"):
        from_line("[]", GameResult)


def test_openings_may_only_grow(folder: LabFolder) -> None:
    other = STARTPOS.replace(" b ", " w ")
    assert folder.known_openings() == []
    folder.keep_openings([STARTPOS])
    folder.keep_openings([STARTPOS, other])
    assert folder.known_openings() == [STARTPOS, other]
    with pytest.raises(LabError, match="no more than 4 games"):
        folder.keep_openings([other, STARTPOS, other])
    folder.openings.write_text("sfen nonsense\n")
    with pytest.raises(LabError, match="line 1"):
        folder.known_openings()
