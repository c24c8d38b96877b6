"""``gougi match`` for a user: errors, whole matches of scripted engines, faults, interruptions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer

from lab.commands.match import match
from lab.match.folder import from_line
from lab.match.results import MOST_FAULTS, PlayedGame, facts, table, words
from lab.match.settings import Contestant, MatchSettings, Pace, contestant
from lab.match.statistics import Sprt, Tally
from master.commands.common import CommandError
from tests.master.command import GOUGI, Running, environment, gougi
from tests.master.terminal import at_terminal
from worker.nnue.network import default_file

ENGINE = Path(__file__).with_name("usi_player.py")


def run(*arguments: str) -> object:
    app = typer.Typer()
    app.command()(match)
    return app(args=list(arguments), standalone_mode=False)


def shuffler(*words: str) -> str:
    return " ".join([sys.executable, str(ENGINE), *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "match"


@pytest.fixture
def common(tmp_path: Path, folder: Path) -> list[str]:
    openings = tmp_path / "openings"
    openings.write_text("startpos\n", encoding="utf-8")
    return ["--openings", str(openings), "--out", str(folder), "--json"]


def played(folder: Path) -> list[PlayedGame]:
    return [from_line(text, PlayedGame) for text in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sh", "no-such-engine", "--nodes", "5"), "no such program"),
        (("sh", "sh", "--nodes", "5", "--name-a", "sh"), "both players are called 'sh'"),
        (("sh", "cat"), "^give --nodes, --depth, --byoyomi or --time$"),
        (("sh", "cat", "--nodes", "5", "--byoyomi", "1"), "not several"),
        (("sh", "cat", "--time", "soon"), "expected MAIN[+]INC"),
        (("sh", "cat", "--byoyomi", "inf"), "^--byoyomi inf: expected seconds$"),
        (("sh", "cat", "--time", "1e11"), "^a time of 1e[+]11 s: expected 1,000,000 s at most$"),
        (("sh", "cat", "--byoyomi", "1", "--margin-ms", "100000000000000"), "^a time of 1e[+]11 s: expected"),
        (("sh", "cat", "--nodes", "5", "--games", "5"), "even number"),
        (("sh", "cat", "--nodes", "5", "--sprt", "5,0"), "elo0"),
        (("sh", "cat", "--nodes", "5", "--openings", "/no/such/file"), "cannot be read"),
        (("false", "cat", "--nodes", "5"), r"player false: .*false: ended with exit code 1"),
        ((shuffler(), "cat", "--nodes", "5", "-A", "Hash=1"), r"player python.*: .*no option 'Hash'"),
        ((shuffler("name", "gpsshogi"), "cat", "--nodes", "5"), "does not understand 'go nodes'"),
    ],
)
def test_errors_have_exit_code_2(arguments: Sequence[str], words: str, common: list[str]) -> None:
    # If an option is given twice, the last one counts.
    with pytest.raises(CommandError, match=words) as error:
        run(arguments[0], arguments[1], *common, *arguments[2:])
    assert error.value.code == 2


def test_options_that_do_nothing_are_named(common: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--nodes", "100", *common, "--games", "2", "--opening-plies", "8", "--name-a", "a"]
    assert run(shuffler(), shuffler(), *words) == 0
    assert "gougi: --opening-plies: not used, because --openings has the openings\n" in capsys.readouterr().err


def test_a_slash_in_a_name_is_none_in_the_folder() -> None:
    a, b = (contestant("cat", name, ()) for name in ("nets/a", "b"))
    assert MatchSettings((a, b), Pace(nodes=5), 2).folder_name == "nets_a-b"


def test_names_that_are_not_utf_8(common: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A player's name, and the path of a program that crashes."""
    program = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\x90\x85"))
    program.write_text(f'#!/bin/sh\nexec {shuffler()} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    crashing = f"{program} crash-at 6 name {program.name}"
    assert run(shuffler(), crashing, "--nodes", "100", "--name-a", f"A{program.name}", *common, "--games", "2") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["a"], found["b"], found["endings"]) == ("A??", "??", {"CRASH": 1, "SENNICHITE": 1})


def test_a_whole_match(common: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    players = (shuffler("name", "A", "log", str(log)), shuffler("score", "-20"))
    arguments = (*players, "--nodes", "100", "-A", "Threads=2", "--name-a", "A", "--name-b", "B", *common)
    assert run(*arguments, "--games", "4") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["games"], found["draws"], found["pairs"], found["endings"]) == (
        4,
        4,
        [0, 0, 2, 0, 0],
        {"SENNICHITE": 4},
    )
    assert found["searching"]["a"]["nodes_a_move"] == 120
    assert found["searching"]["a"]["depth"] == 3, "a bound is no depth that was reached"
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == found
    assert "4/4 games, +0 =4 -0, Elo +0" in err
    assert "games/h" in err
    heard = log.read_text(encoding="utf-8").splitlines()
    assert len({text.split()[0] for text in heard}) == 1, "one process for all games"
    assert sum(text.endswith(" usinewgame") for text in heard) == 5, "one for each game and the first search"
    assert sum(text.endswith(" gameover draw") for text in heard) == 4
    assert any(text.endswith(" setoption name Threads value 2") for text in heard)
    records = sorted(path.name for path in (folder / "records").iterdir())
    assert records == [f"game-{number:04d}.csa" for number in range(1, 5)]
    first, second = ((folder / "records" / name).read_text(encoding="utf-8") for name in records[:2])
    assert "N+A\nN-B" in first
    assert "N+B\nN-A" in second, "the pair swaps colours"
    assert "'** 10 #120" in first, "A's score as black"
    assert "'** 20 #120" in first, "B's own -20 is black's +20"
    assert "%SENNICHITE" in first

    log.unlink()
    assert run(*arguments, "--games", "4") == 0
    assert json.loads(capsys.readouterr().out) == found, "a finished match is only reported again"
    assert not log.exists(), "and starts no engine"
    before = (folder / "games.jsonl").read_text(encoding="utf-8")
    assert run(*arguments, "--games", "6", "--concurrency", "2") == 0
    assert json.loads(capsys.readouterr().out)["games"] == 6, "more games may be asked for"
    assert (folder / "games.jsonl").read_text(encoding="utf-8").startswith(before)


def test_a_test_ends_the_match(common: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (shuffler(), shuffler("resign-at", "3", "name", "B"), "--nodes", "1", "--games", "400", *common)
    # White resigns at ply 3, and B as black continues to a repetition: A has one and a half points of two.
    assert run(*arguments, "--sprt", "0,100") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["sprt"]["verdict"] == "H1"
    assert found["games"] < 100
    assert found["games"] % 2 == 0
    assert found["finished"]
    assert "LLR" in err
    assert "at most" in err


def test_scores_end_games(common: list[str], folder: Path) -> None:
    # Both sides see A ahead.
    players = (shuffler("score", "3000"), shuffler("score", "-3000"))
    assert run(*players, "--nodes", "1", "--games", "2", "--resign-moves", "2", *common) == 0
    assert [(game.end, game.points, game.plies) for game in played(folder)] == [("RESIGN", 1, 5), ("RESIGN", 1, 4)]
    assert "%TORYO" in (folder / "records" / "game-0001.csa").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "end", "words"),
    [
        ("illegal-at", "ILLEGAL_MOVE", "1a9i is not legal"),
        ("crash-at", "CRASH", "ended with exit code 4; stderr: the engine is out of order"),
        ("hang-at", "TIME_UP", "no move in 1 s"),
    ],
)
def test_a_fault_loses_the_game_and_the_match_goes_on(
    fault: str,
    end: str,
    words: str,
    common: list[str],
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    once = str(tmp_path / "once")
    players = (shuffler(fault, "5", "once", once, "log", str(tmp_path / "log")), shuffler())
    names = ("--name-a", "A", "--name-b", "B")
    assert run(*players, *names, "--byoyomi", "0.7", "--margin-ms", "300", "--games", "4", *common) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["losses"], found["draws"], found["faults"]) == (1, 3, {"A": 1, "B": 0})
    # Game 2 is the first in which A is white, and has the fifth ply.
    lost = played(folder)[1]
    assert (lost.number, lost.end, lost.points, lost.plies) == (2, end, 0.0, 5)
    assert words in lost.comment
    assert "game 2: A lost: " in err
    assert words in err
    pids = {text.split()[0] for text in (tmp_path / "log").read_text(encoding="utf-8").splitlines()}
    assert len(pids) == (2 if end in ("CRASH", "TIME_UP") else 1), "restarted after it was gone"


def test_fault_after_fault_ends_the_match(common: list[str], folder: Path) -> None:
    players = (shuffler(), shuffler("illegal-at", "any"))
    words = r"B has lost game after game .* the last, game 4: illegal move: 1a9i .*; the same command goes on"
    with pytest.raises(CommandError, match=words) as error:
        run(*players, "--name-b", "B", "--nodes", "1", "--games", "40", *common)
    assert error.value.code == 1
    assert [game.at_fault for game in played(folder)] == [1] * MOST_FAULTS
    assert json.loads((folder / "result.json").read_text(encoding="utf-8"))["faults"] == {"python": 0, "B": 4}


def test_a_player_that_cannot_be_started_again_ends_the_match(common: list[str], folder: Path, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_bytes(ENGINE.read_bytes())
    vanishing = f"{sys.executable} {engine} crash-at 5 remove {engine}"
    words = r"player A cannot be started again: .*engine\.py.*; the same command goes on"
    arguments = (vanishing, shuffler(), "--name-a", "A", "--nodes", "1", "--games", "6", *common)
    with pytest.raises(CommandError, match=words) as error:
        run(*arguments)
    assert error.value.code == 1
    assert [(game.number, game.end) for game in played(folder)] == [(1, "SENNICHITE"), (2, "CRASH")]
    engine.write_text(ENGINE.read_text(encoding="utf-8").replace('at("crash-at", ply)', "False"), encoding="utf-8")
    assert run(*arguments) == 0
    assert [game.end for game in played(folder)] == ["SENNICHITE", "CRASH", *["SENNICHITE"] * 4]


def match_words(common: list[str]) -> list[str]:
    players = (shuffler("delay", "0.1"), shuffler("delay", "0.1", "name", "B"))
    return ["match", *players, "--nodes", "1", "--concurrency", "2", *common]


@pytest.fixture
def started(common: list[str], tmp_path: Path) -> Iterator[Running]:
    running = Running([*match_words(common), "--games", "40"], tmp_path)
    yield running
    running.kill()


def test_an_interruption_keeps_the_finished_games(started: Running, folder: Path) -> None:
    started.wait_for("2/40 games")
    started.process.send_signal(signal.SIGTERM)
    assert started.end() == 130
    assert "interrupted: the same command goes on with" in started.output
    assert not started.left_behind(), "no engine outlives the match"
    assert 2 <= len(played(folder)) < 40
    assert all(game.end == "SENNICHITE" for game in played(folder)), "a game that was cut short has no result"


def test_a_killed_engine_is_started_again_and_a_killed_match_goes_on(
    started: Running, folder: Path, common: list[str], tmp_path: Path
) -> None:
    started.wait_for("1/40 games")
    running = started.left_behind().items()
    engine = next(pid for pid, command in running if ENGINE.name in command and "-m gougi" not in command)
    os.kill(engine, signal.SIGKILL)
    assert "crashed: " in started.wait_for("killed by SIGKILL")
    started.wait_for("4/40 games")
    started.process.kill()
    started.end()
    known = played(folder)
    assert [game.end for game in known].count("CRASH") == 1
    deadline = time.monotonic() + 20
    while started.left_behind() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not started.left_behind(), "engines end with their input"
    again = Running([*match_words(common), "--games", "6"], tmp_path)
    assert again.end() == 0
    assert played(folder)[: len(known)] == known
    assert {game.number for game in played(folder)} >= set(range(1, 7))


def test_a_full_disk_is_one_line_and_nothing_is_lost(common: list[str], folder: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: 2,048 bytes hold eight games or so."""
    players = (shuffler(), shuffler("name", "B"))
    words = ["match", *players, "--nodes", "1", "--games", "20", *common]
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh", *GOUGI, *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert limited.returncode == 1
    known = played(folder)
    said = limited.stderr.splitlines()[-1]
    assert f"game {len(known) + 1} cannot be kept: File too large; the same command goes on" in said
    assert "Traceback" not in limited.stderr
    assert len(known) > 2
    assert gougi(*words, cwd=tmp_path).returncode == 0
    assert played(folder)[: len(known)] == known
    assert sorted(game.number for game in played(folder)) == list(range(1, 21))


class TestReport:
    settings = MatchSettings(
        (Contestant("A", ("a",), {}, "/"), Contestant("B", ("b",), {}, "/")), Pace(nodes=1), games=40, sprt=Sprt(0, 50)
    )

    def games(self, points: float, count: int) -> list[PlayedGame]:
        return [PlayedGame(number, points, "RESIGN", "", 50) for number in range(1, count + 1)]

    def test_json_for_any_result(self) -> None:
        for points, count in ((1.0, 40), (0.0, 40), (0.5, 2), (0.5, 0)):
            found = facts(self.settings, self.games(points, count))
            json.loads(json.dumps(found, allow_nan=False))
            assert table(self.settings, found)
        swept = facts(self.settings, self.games(1.0, 40))
        assert (swept["elo"], swept["elo_high"], swept["finished"]) == (None, None, True)
        assert facts(self.settings, self.games(0.5, 2))["sprt"]["verdict"] == "open"

    def test_words(self) -> None:
        said = words(self.settings, Tally(2, 1, 1, (0, 0, 1, 1, 0)))
        assert said.startswith("+2 =1 -1, Elo +89 (")
        assert "LLR 0." in said
        assert said.endswith("(-2.94 to 2.94)")


@pytest.mark.slow
def test_our_own_searchers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openings = tmp_path / "openings"
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n", encoding="utf-8")
    arguments = ["gougi", "gougi", "--nodes", "300", "--each", "USI_Hash=4"]
    arguments += ["-A", f"EvalFile={default_file()}", "-B", "DepthLimit=1"]
    arguments += ["--games", "4", "--max-moves", "60", "--openings", str(openings), "--out", str(tmp_path / "match")]
    assert run(*arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["a"], found["b"]) == (f"gougi-EvalFile={default_file().name}", "gougi-DepthLimit=1")
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] == 4
    assert sum(found["pairs"]) == 2
    assert found["searching"]["b"]["nodes_a_cpu_s"]
    records = sorted((tmp_path / "match" / "records").iterdir())
    boards = [[text for text in record.read_text().splitlines() if text.startswith("P")] for record in records]
    assert boards[0] == boards[1] != boards[2] == boards[3], "both games of a pair have one opening"


def test_at_a_terminal_a_bar_goes_on(common: list[str], tmp_path: Path) -> None:
    words = [*GOUGI, "match", shuffler(), shuffler("score", "-20"), "--nodes", "100", "--games", "4", *common]
    seen = at_terminal([*words, "--name-a", "A", "--name-b", "B"], tmp_path)
    assert seen.code == 0, seen.text
    assert seen.redrawn
    assert re.search(r"━ 4/4 games .*\+0 =4 -0, Elo \+0", seen.text)
