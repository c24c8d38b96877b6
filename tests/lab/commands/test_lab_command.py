"""``gougi lab`` for a user: its errors, whole laboratories, Ctrl-C and a second run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from cluster.coordination.settings import Mode
from lab.commands.lab import lab
from master.commands.common import CommandError
from tests.master.command import Running, gougi

TINY = ("--budget", "200", "--games", "4", "--max-moves", "40", "--hash", "1")
SPLIT = "split+min_split_nodes=100"
"""These tests use a budget at which all nodes would consult."""


def run(*arguments: str) -> object:
    app = typer.Typer()
    app.command()(lab)
    return app(args=list(arguments), standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--strategy", "flat"), "no strategy 'flat'"),
        (("--nodes", "1,two"), "expected whole numbers"),
        (("--nodes", "0"), "0 nodes"),
        (("--games", "5"), "even number"),
        (("--against", "soon"), "against soon"),
        (("--sprt", "5"), "--sprt 5: expected two numbers"),
        (("--sprt", "5,5"), "elo0"),
    ],
)
def test_errors_have_exit_code_2(arguments: Sequence[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=words) as error:
        run(*arguments, "--out", str(tmp_path / "lab"))
    assert error.value.code == 2
    assert not (tmp_path / "lab").exists()


def test_the_strategies_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    strategies, settings = capsys.readouterr().out.splitlines()
    assert strategies.split()[1:] == [*Mode, "threads"]
    assert "takeover.margin" in settings


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_same_seed_plays_the_same_games_at_any_concurrency_and_after_ctrl_c(tmp_path: Path) -> None:
    words = ("lab", *TINY, "--nodes", "1,2", "--strategy", SPLIT, "--games", "8", "--json")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    done = gougi(*words, "--concurrency", "1", "--out", str(whole), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert json.loads((whole / "result.json").read_text()) == found
    one, two = found["points"]
    assert (one["games"], one["score"], two["games"]) == (8, 0.5, 8)
    assert two["wasted"] > 0

    running = Running([*words, "--concurrency", "2", "--out", str(broken)], tmp_path)
    games = broken / "games.jsonl"
    try:
        running.wait_for("3/8 ")
        running.press_ctrl_c()
        assert running.end() == 130
        assert "Traceback" not in running.output
        assert "the same command goes on" in running.output
        assert not running.left_behind()
    finally:
        running.kill()
    before = games.read_text()
    assert 3 <= len(before.splitlines()) < 16
    with games.open("a") as file:
        file.write('{"strategy": "spl')
    done = gougi(*words, "--concurrency", "2", "--out", str(broken), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the last line was damaged and is dropped" in done.stderr
    assert json.loads(done.stdout) == found
    assert games.read_text().startswith(before)
    for name in ("games.jsonl", "openings.txt"):
        assert sorted((broken / name).read_text().splitlines()) == sorted((whole / name).read_text().splitlines())

    again = gougi(*words, "--out", str(whole), cwd=tmp_path)
    assert (again.returncode, json.loads(again.stdout)) == (0, found)
    other = gougi(*words, "--seed", "2", "--out", str(whole), cwd=tmp_path)
    assert (other.returncode, "(seed was 1 and is 2)" in other.stderr) == (2, True)
