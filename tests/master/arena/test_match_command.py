"""``gougi match`` as a user meets it: its errors, and a whole match where the referee and an engine are installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import pytest
import typer

from master.arena.settings import MatchSettings, Pace, Player
from master.commands.common import CommandError
from master.commands.match import match, report
from worker.arena.statistics import Sprt, Tally
from worker.nnue.network import DEFAULT_NETWORK


def run(*arguments: str) -> object:
    app = typer.Typer()
    app.command()(match)
    return app(args=list(arguments), standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sh", "no-such-engine", "--nodes", "5"), "no such program"),
        (("sh", "sh", "--nodes", "5"), "both players are called 'sh'"),
        (("sh", "cat"), "expected nodes a move or a time control"),
        (("sh", "cat", "--nodes", "5", "--byoyomi", "1"), "and not both"),
        (("sh", "cat", "--time", "soon"), "expected MAIN[+]INC"),
        (("sh", "cat", "--time", "inf+1"), "two times from 0 up"),
        (("sh", "cat", "--nodes", "5", "--games", "5"), "even number"),
        (("sh", "cat", "--nodes", "5", "--sprt", "5"), "expected two numbers"),
        (("sh", "cat", "--nodes", "5", "--sprt", "5,0"), "elo0"),
        (("sh", "cat", "--nodes", "5", "--openings", "/no/such/file"), "cannot be read"),
    ],
)
def test_errors_have_exit_code_2(arguments: Sequence[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=words) as error:
        run(*arguments, "--out", str(tmp_path / "match"))
    assert error.value.code == 2


def test_a_player_that_is_no_engine(tmp_path: Path) -> None:
    openings = tmp_path / "openings"
    openings.write_text("startpos\n", encoding="utf-8")
    arguments = ("false", "cat", "--nodes", "5", "--openings", str(openings), "--out", str(tmp_path / "match"))
    with pytest.raises(CommandError, match=r"player false: .*false: ended with exit code 1") as error:
        run(*arguments)
    assert error.value.code == 2


def test_report_is_json_whatever_the_result() -> None:
    players = (Player("A", ("a",), {}, "/"), Player("B", ("b",), {}, "/"))
    settings = MatchSettings(players, Pace(nodes=1), games=40, sprt=Sprt(0, 50))
    swept = report(settings, Tally(40, 0, 0, (0, 0, 0, 0, 20)), 0)
    json.loads(json.dumps(swept, allow_nan=False))
    assert (swept["elo"], swept["elo_high"], swept["finished"]) == (None, None, True)
    begun = report(settings, Tally(2, 0, 0, (0, 0, 0, 0, 1)), 1)
    assert (begun["finished"], begun["without_result"], begun["sprt"]["verdict"]) == (False, 1, "open")


@pytest.mark.slow
def test_whole_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openings = tmp_path / "openings"
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n", encoding="utf-8")
    engine = f"{sys.executable} -m master usi --single"
    network = resources.files("worker.nnue") / "data" / DEFAULT_NETWORK
    arguments = [engine, engine, "--name-a", "A", "--name-b", "B", "--nodes", "300"]
    arguments += ["-A", f"EvalFile={network}", "-A", "USI_Hash=4", "-B", "USI_Hash=4", "-B", "DepthLimit=1"]
    arguments += ["--games", "4", "--max-moves", "60", "--openings", str(openings), "--out", str(tmp_path / "match")]
    assert run(*arguments, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["games"] == facts["wins"] + facts["draws"] + facts["losses"] == 4
    assert sum(facts["pairs"]) == 2
    records = sorted((tmp_path / "match" / "records").iterdir())
    assert [record.name for record in records] == [f"game-{number:04d}.csa" for number in range(1, 5)]
    boards = [[line for line in record.read_text().splitlines() if line.startswith("P")] for record in records]
    assert boards[0] == boards[1] != boards[2] == boards[3], "both games of a pair have one opening"
    assert "N+A" in records[0].read_text()
    assert "N+B" in records[1].read_text()
    records[3].unlink()
    assert run(*arguments, "--json") == 0, "a finished match is only told again"
    assert json.loads(capsys.readouterr().out) == facts
