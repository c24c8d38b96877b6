"""What a match accepts, and what it says to what it does not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from master.arena.settings import MatchFolder, MatchSettings, Pace, Player, SettingsError, player
from worker.arena.statistics import Sprt


def settings() -> MatchSettings:
    players = (Player("A", ("/bin/true",), {"Threads": "1"}, "/"), Player("B", ("/bin/true", "-x"), {}, "/"))
    return MatchSettings(players, Pace(nodes=100), games=4, sprt=Sprt(0, 5))


def test_players() -> None:
    ours = player("gougi", None, ["Threads=2"])
    assert (ours.name, ours.command[0]) == ("gougi", sys.executable)
    assert ours.options == {"NetworkDelay": "0", "Threads": "2"}
    other = player("sh -c 'a b'", "S", ["Skill Level = 3", "File="])
    assert (other.name, other.command[1:]) == ("S", ("-c", "a b"))
    assert Path(other.command[0]).is_absolute()
    assert other.options == {"Skill Level": "3", "File": ""}


def test_player_from_our_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOUGI_ENGINE_THREADS", raising=False)
    file = tmp_path / "strong.toml"
    file.write_text("[engine]\nthreads = 3\nhash_mb = 64\n", encoding="utf-8")
    strong = player(str(file), None, [])
    assert strong.name == "strong"
    assert (strong.options["Threads"], strong.options["USI_Hash"]) == ("3", "64")
    with pytest.raises(SettingsError, match=r"gone\.toml"):
        player(str(tmp_path / "gone.toml"), None, [])


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("no-such-engine", [], "no-such-engine: no such program"),
        ("", [], "a player is empty"),
        ("sh 'x", [], "is no command"),
        ("sh", ["Threads"], "expected NAME=VALUE"),
        ("sh", ["=3"], "expected NAME=VALUE"),
    ],
)
def test_wrong_players(spec: str, options: list[str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        player(spec, None, options)


def test_pace() -> None:
    assert str(Pace(nodes=5)) == "5 nodes a move"
    assert str(Pace(main_ms=60_000, increment_ms=500)) == "60 s main time, 0.5 s increment"
    for wrong in ({}, {"nodes": 5, "byoyomi_ms": 100}, {"byoyomi_ms": 1, "increment_ms": 1}):
        with pytest.raises(SettingsError, match="expected"):
            Pace(**wrong)


def test_settings_that_make_no_match() -> None:
    with pytest.raises(SettingsError, match="3 games: expected an even number"):
        replace(settings(), games=3)
    with pytest.raises(SettingsError, match="both players are called 'A'"):
        replace(settings(), players=(settings().players[0], settings().players[0]))


def test_folder_belongs_to_one_match(tmp_path: Path) -> None:
    folder = MatchFolder(tmp_path / "runs" / "one")
    assert folder.claim(settings())
    assert not folder.claim(settings()), "the same again goes on"
    with pytest.raises(SettingsError, match=r"other settings \(games, sprt\)"):
        folder.claim(replace(settings(), games=6, sprt=None))
    (folder.path / "match.json").write_text("{", encoding="utf-8")
    with pytest.raises(SettingsError, match="not readable"):
        folder.claim(settings())
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="file"):
        MatchFolder(tmp_path / "file" / "below").claim(settings())
