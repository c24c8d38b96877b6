"""The single engine and its commands without any part of POSIX, on the portable build (`tests.gougi.no_posix`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.master.command import GOUGI, ROOT, environment
from tests.usi_game import play_over_usi
from tests.worker.builds import OTHER

pytestmark = pytest.mark.slow

GAME = """V2.2
N+black
N-white
PI
+
+7776FU
-3334FU
+2726FU
-4344FU
%TORYO
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process for which this machine is like Windows."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "sitecustomize.py").write_text("from tests.gougi.no_posix import plant\nplant()\n")
    return {**OTHER, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def run(planted: dict[str, str], cwd: Path, *words: str, text: str = "") -> str:
    """A command's output; it must succeed."""
    done = subprocess.run(
        [*GOUGI, *words], cwd=cwd, env=environment(cwd, planted), input=text, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("import fcntl", "ModuleNotFoundError"),
        ("from os import fork", "ImportError"),
        ("import signal; signal.SIGHUP", "AttributeError"),
        ("import socket; socket.socket(socket.AF_UNIX)", "AttributeError"),
        ("open('/proc/self/stat')", "FileNotFoundError"),
        ("import subprocess; subprocess.Popen(['true'], start_new_session=True)", "ValueError"),
    ],
)
def test_missing_parts_of_windows_are_missing(planted: dict[str, str], script: str, error: str) -> None:
    """Otherwise the other tests here would prove nothing."""
    script = f"exec({script!r}, {{'__name__': 'worker.x'}})"
    done = subprocess.run([sys.executable, "-c", script], env=planted, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(error), done.stderr


@pytest.mark.timeout(900)
def test_the_searcher_compiles_evaluates_and_searches_the_same_tree(planted: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*GOUGI, "warm"], env=environment(tmp_path, planted), capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stderr
    here = subprocess.run([*GOUGI, "eval"], env=environment(tmp_path), capture_output=True, text=True, check=True)
    assert run(planted, tmp_path, "eval") == here.stdout
    first, second = (
        json.loads(run(planted if there else {}, tmp_path, "bench", "--json", "--depth", "8"))
        for there in (True, False)
    )
    assert first["signature"] == second["signature"]
    assert run(planted, tmp_path, "perft", "4") == "719731\n"


def test_a_game_by_usi(planted: dict[str, str], tmp_path: Path) -> None:
    begin = "setoption name USI_Hash value 16\nsetoption name Threads value 2\nisready\nusinewgame\n"
    words = [*GOUGI, "usi", "--single"]
    play_over_usi(words, tmp_path, environment(tmp_path, planted), begin, "go btime 0 wtime 0 byoyomi 100")


def test_an_analysis(planted: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "game.csa").write_text(GAME)
    words = ["analyze", "game.csa", "--single", "--nodes-per-move", "300", "--reuse", "--problems", "p.json", "--json"]
    found = json.loads(run({**planted, "XDG_DATA_HOME": str(tmp_path)}, tmp_path, *words))
    assert len(found["games"][0]["moves"]) == 4
    assert (tmp_path / "analysis" / "game.html").exists()


def test_a_match(planted: dict[str, str], tmp_path: Path) -> None:
    words = ["match", "gougi", "gougi", "--nodes", "100", "--games", "2", "--max-moves", "10", "--out", "m", "--json"]
    found = json.loads(run(planted, tmp_path, *words))
    assert found["games"] == 2
    assert len(list((tmp_path / "m").rglob("*.csa"))) == 2


def test_books_and_networks(planted: dict[str, str], tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csa").write_text(GAME)
    run(planted, tmp_path, "book", "import", "--from", ".", "--min-plies", "1", "--out", "small.db")
    assert "7g7f" in run(planted, tmp_path, "book", "show", "--book", "small.db")
    assert "positions" in run(planted, tmp_path, "book", "stats", "small.db")
    assert json.loads(run({**planted, "XDG_DATA_HOME": str(tmp_path)}, tmp_path, "net", "list", "--json"))
    assert run(planted, tmp_path, "net", "info", str(ROOT / "worker" / "nnue" / "data" / "gougi.bin"))
