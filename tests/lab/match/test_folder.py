"""A match's folder: its owner, and that no game in it is lost or counted twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.match.folder import MatchFolder
from lab.match.results import PlayedGame
from lab.match.settings import Contestant, MatchSettings, Pace, SettingsError, contestant
from lab.match.statistics import Sprt
from master.records.lines import RecordedMove
from master.records.record import Ending, GameRecord
from worker.clock.timecontrol import TimeControl
from worker.nnue.beside import write_beside
from worker.shogi import STARTPOS


def settings() -> MatchSettings:
    players = (Contestant("A", ("/bin/true",), {"Threads": "1"}, "/"), Contestant("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))


def game(number: int) -> PlayedGame:
    return PlayedGame(number, 1.0, "RESIGN", "", 1)


def record(number: int) -> GameRecord:
    one = GameRecord(f"game {number}", ("A", "B"), STARTPOS, (TimeControl(), TimeControl()))
    one.moves.append(RecordedMove("7g7f", 30, 12, nodes=100))
    one.ending = Ending("RESIGN", 0)
    return one


@pytest.fixture
def folder(tmp_path: Path) -> MatchFolder:
    one = MatchFolder(tmp_path / "runs" / "one")
    one.records.mkdir(parents=True)
    one.claim(settings())
    return one


def test_a_match_that_never_played_does_not_lock_its_folder(folder: MatchFolder) -> None:
    folder.openings.write_text("startpos\n", encoding="utf-8")
    folder.claim(replace(settings(), seed=2, sprt=None))
    assert not folder.openings.exists(), "they were made for other settings"


def test_a_match_that_has_played_does(folder: MatchFolder) -> None:
    folder.add(game(1), record(1))
    folder.claim(settings())
    folder.claim(replace(settings(), games=6, concurrency=2))
    a, b = settings().players
    other = replace(settings(), seed=2, sprt=None, players=(replace(a, options={"Threads": "2"}), b))
    with pytest.raises(
        SettingsError,
        match=r"\(players\.a\.options\.Threads was '1' and is '2'; seed was 1 and is 2; sprt was \{.*\} and is None\)",
    ):
        folder.claim(other)
    folder.settings.write_text("{", encoding="utf-8")
    with pytest.raises(SettingsError, match="not readable"):
        folder.claim(settings())


def test_other_sources_of_ours_are_told(folder: MatchFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = replace(settings(), players=(contestant("gougi", "A", []), settings().players[1]))
    assert not folder.claim(ours)
    monkeypatch.setattr("lab.match.folder.sources", lambda: "others")
    assert not folder.claim(ours), "no game was played"
    folder.add(game(1), record(1))
    assert not folder.claim(ours)
    monkeypatch.undo()
    assert "the sources are not those it was begun with" in folder.claim(ours)
    assert not folder.claim(ours), "it is reported once"


def test_a_network_that_has_changed_is_another_match(folder: MatchFolder, tmp_path: Path) -> None:
    net = tmp_path / "nn.bin"
    net.write_bytes(b"one")
    ours = replace(settings(), players=(contestant("gougi", "A", [f"EvalFile={net}"]), settings().players[1]))
    folder.claim(ours)
    folder.add(game(1), record(1))
    folder.claim(ours)
    write_beside(net, {"fv_scale": 24})
    with pytest.raises(SettingsError, match=r"nets was .* and is \['[0-9a-f]{16}, FV_SCALE 24', ''\]"):
        folder.claim(ours)
    net.write_bytes(b"trained further")
    with pytest.raises(SettingsError, match="nets was"):
        folder.claim(ours)


def test_records_of_others_are_not_overwritten(folder: MatchFolder) -> None:
    (folder.records / "game-0001.csa").write_text("V2.2\n", encoding="utf-8")
    folder.claim(settings())  # ours: the match was killed before its first game counted
    folder.settings.unlink()
    with pytest.raises(SettingsError, match="holds other records"):
        folder.claim(settings())


def test_the_openings_of_another_command_are_not_replaced(folder: MatchFolder) -> None:
    """A match in the folder of the tuning that it confirms: with other openings the tuning would end otherwise."""
    folder.settings.rename(folder.path / "tune.json")
    folder.openings.write_text("startpos\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="one belongs to another command: choose another folder"):
        folder.claim(settings())
    assert folder.openings.exists()


def test_games_are_kept(folder: MatchFolder) -> None:
    folder.add(game(2), record(2))
    folder.add(game(1), record(1))
    assert folder.read() == ([game(2), game(1)], "")
    text = (folder.records / "game-0002.csa").read_text(encoding="utf-8")
    assert "+7776FU\nT0.030\n'** 12 #100\n%TORYO" in text


def test_a_folder_that_cannot_be_made_is_named(folder: MatchFolder) -> None:
    (folder.path.parent / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(SettingsError, match="below cannot be made: Not a directory"),
        MatchFolder(folder.path.parent / "file" / "below").held(),
    ):
        pass
