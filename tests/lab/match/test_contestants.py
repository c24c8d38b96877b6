"""The contestants by their names on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab.match.settings import Contestant, SettingsError, contestant, with_names


def names(a: Contestant, b: Contestant) -> list[str]:
    return [one.name for one in with_names(a, b)]


def test_contestants() -> None:
    ours = contestant("gougi", None, ["Threads=2"])
    assert (ours.name, ours.command[0]) == ("gougi", sys.executable)
    assert ours.options["Threads"] == "2"
    other = contestant("sh -c 'a b'", "S", ["Skill Level = 3", "File="])
    assert (other.name, other.command[1:]) == ("S", ("-c", "a b"))
    assert Path(other.command[0]).is_absolute()
    assert other.options == {"Skill Level": "3", "File": ""}


def test_ours_keeps_no_margin_from_a_clock_and_the_user_may_say_otherwise() -> None:
    assert contestant("gougi", None, [], timed=False).options == {}
    timed = contestant("gougi", None, ["NetworkDelay2=20"])
    assert (timed.options["NetworkDelay"], timed.options["NetworkDelay2"]) == ("0", "20")
    assert timed.options["RoundUpToFullSecond"] == "false"


def test_the_sources_of_the_current_folder_do_not_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    (tmp_path / "master").mkdir()
    (tmp_path / "master" / "__main__.py").write_text("print('not installed')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    one = contestant("gougi", None, [])
    ended = subprocess.run(
        [*one.command, "--help"], cwd=one.folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert "not installed" not in ended.stdout
    assert "USI" in ended.stdout


def test_variables_stand_before_any_player() -> None:
    ours = contestant("env GOUGI_WITHOUT=probcut X=1 gougi", None, [], timed=False)
    assert ours.command[1:3] == ("GOUGI_WITHOUT=probcut", "X=1")
    assert ours.command[3:] == contestant("gougi", None, []).command
    assert ours.name == "gougi"
    other = contestant("env X=1 sh -c y", None, [])
    assert (other.name, Path(other.command[2]).name, other.command[3:]) == ("sh", "sh", ("-c", "y"))
    assert (ours.is_ours, other.is_ours) == (True, False)
    with pytest.raises(SettingsError, match="a player is empty"):
        contestant("env X=1", None, [])


def test_our_program_is_found_without_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("", encoding="utf-8")
    program = tmp_path / "gougi"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert contestant("gougi usi --single", None, []).command == (str(program), "usi", "--single")


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
def test_wrong_contestants(spec: str, options: list[str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        contestant(spec, None, options)


def test_two_contestants_of_one_name_are_told_apart() -> None:
    plain = contestant("gougi", None, [])
    assert names(plain, plain) == ["gougi", "gougi-2"]
    assert names(contestant("gougi", None, ["Threads=2"]), plain) == ["gougi-Threads=2", "gougi"]
    assert names(plain, contestant("env GOUGI_WITHOUT=probcut,see gougi", None, [])) == [
        "gougi",
        "gougi-GOUGI_WITHOUT=probcut_see",
    ]
    nets = [contestant("gougi", None, [f"EvalFile=/nets/{name}.bin"]) for name in "ab"]
    assert names(*nets) == ["gougi-EvalFile=a.bin", "gougi-EvalFile=b.bin"]
    assert names(contestant("sh", "x", []), plain) == ["x", "gougi"]


def test_a_contestant_stays_on_its_cores() -> None:
    one = contestant("env X=1 gougi", None, [], cores="0")
    assert [Path(one.command[0]).name, *one.command[1:3], Path(one.command[3]).name] == ["taskset", "-c", "0", "env"]
    assert one.name == "gougi"
    for cores, why in (("0,99999", "core 99999 is not there"), ("0-", "expected numbers"), ("all", "expected numbers")):
        with pytest.raises(SettingsError, match=why):
            contestant("gougi", None, [], cores=cores)


def test_our_fleet_keeps_no_margin_either() -> None:
    fleet = contestant("gougi usi --nodes 2", None, [])
    assert (fleet.options["NetworkDelay"], fleet.options["MinimumThinkingTime"]) == ("0", "0")
    assert fleet.command[1:] == ("usi", "--nodes", "2")
    assert contestant("gougi usi", None, [], timed=False).options == {}
