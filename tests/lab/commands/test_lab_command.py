"""``gougi lab`` as a user meets it: its errors, whole laboratories, Ctrl-C and going on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from cluster.coordination.strategies import offered
from lab.commands.lab import lab
from master.commands.common import CommandError
from tests.master.command import Running, gougi

TINY = ("--budget", "200", "--games", "4", "--max-moves", "40", "--hash", "1")
SPLIT = "split+min_split_nodes=100"
"""The budget of these tests is one at which all would consult."""


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
        (("--against", "2x", "--table", "table.json"), "over one node .1x., and this is against 2x"),
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
    assert strategies.split()[1:] == [*offered(), "threads"]
    assert "takeover.margin" in settings


@pytest.mark.slow
def test_the_same_seed_plays_the_same_games_whatever_the_concurrency(tmp_path: Path) -> None:
    words = ("lab", *TINY, "--nodes", "1,2", "--strategy", SPLIT, "--json")
    found = []
    for concurrency in ("1", "2"):
        folder = tmp_path / concurrency
        done = gougi(*words, "--concurrency", concurrency, "--out", str(folder), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = (folder / "games.jsonl").read_text().splitlines()
        found.append((json.loads(done.stdout), sorted(lines), (folder / "openings.txt").read_text()))
        assert json.loads((folder / "result.json").read_text()) == json.loads(done.stdout)
    assert found[0] == found[1]
    one, two = found[0][0]["points"]
    assert (one["games"], one["score"], two["games"]) == (4, 0.5, 4)
    assert two["wasted"] > 0
    again = gougi(*words, "--out", str(tmp_path / "1"), cwd=tmp_path)
    assert (again.returncode, json.loads(again.stdout)) == (0, found[0][0])
    other = gougi(*words, "--seed", "2", "--out", str(tmp_path / "1"), cwd=tmp_path)
    assert (other.returncode, "(seed was 1 and is 2)" in other.stderr) == (2, True)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_played_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = ("lab", *TINY, "--nodes", "2", "--strategy", SPLIT, "--out", str(tmp_path / "lab"))
    running = Running([*words, "--games", "40", "--concurrency", "2"], tmp_path)
    try:
        running.wait_for("3/40 ")
        running.press_ctrl_c()
        assert running.end() == 130
        assert "Traceback" not in running.output
        assert "the same command goes on" in running.output
        assert not running.left_behind()
    finally:
        running.kill()
    games = tmp_path / "lab" / "games.jsonl"
    before = games.read_text()
    assert 3 <= len(before.splitlines()) < 40
    with games.open("a") as file:
        file.write('{"strategy": "spl')
    wanted = len(before.splitlines()) // 2 * 2 + 4
    done = gougi(*words, "--games", str(wanted), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the last line was damaged and is dropped" in done.stderr
    after = games.read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == wanted
    assert f"  {wanted} " in done.stdout
