"""``gougi selfplay`` for a user: its errors, games, a kill and a second run, a full disk, and counts."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab.commands.selfplay import OUR_SCALE
from lab.selfplay.shard import read_shard
from master.cli import run
from tests.master.command import ROOT, Running, environment, gougi
from worker.nnue.beside import write_beside
from worker.nnue.network import default_file

TINY = ("--nodes", "60", "--shard", "6", "--hash", "1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--plies", "eight"), "--plies eight: expected two whole numbers"),
        (("--plies", "9-8"), "plies_from is 9"),
        (("--decided", "0.3"), "decided is 0.3"),
        (("--net", "broken.bin"), "broken.bin"),
        (("--net", "missing.bin"), "missing.bin"),
    ],
)
def test_errors_are_one_line_and_leave_no_folder(
    arguments: Sequence[str], words: str, refusal: Callable[..., str]
) -> None:
    assert words in refusal("selfplay", *arguments, "--out", "games")


def test_the_default_scale_is_that_of_the_network_that_ships() -> None:
    """Or of the one that got an attack network."""
    ours = hashlib.sha256(default_file().read_bytes()).hexdigest()
    scale = 0
    for generation in json.loads((ROOT / "lab" / "learning" / "history.json").read_text())["generations"]:
        made = [step["result"] for step in generation["steps"] if step["kind"] in ("train", "blend")]
        scale = round(made[0].get("scale", scale))
        if any(result["sha256"] == ours for result in made):
            assert scale == OUR_SCALE
            return
    pytest.fail("lab/learning/history.json does not have the network that ships")


def test_a_folder_without_shards_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["selfplay", "stats", str(tmp_path)]) == 1
    said = capsys.readouterr().err  # on a new machine after the compiler's progress
    assert said.endswith(f"gougi: {tmp_path}: no shards of gougi selfplay in it\n")


def test_the_scale_beside_a_network_counts(tmp_path: Path) -> None:
    shutil.copy(default_file(), tmp_path / "own.bin")
    write_beside(tmp_path / "own.bin", {"fv_scale": 24})
    words = ("selfplay", "--net", "own.bin", "--nodes", "1", "--shard", "1", "--games", "1", "--hash", "1")
    done = gougi(*words, "--processes", "1", "--out", "games", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_shard(tmp_path / "games" / "shard-000000.games").header["fv_scale"] == 24


@pytest.mark.slow
def test_the_same_games_with_any_processes_and_more_of_them_later(tmp_path: Path) -> None:
    for folder, processes in (("one", "1"), ("two", "2")):
        words = ("selfplay", *TINY, "--games", "13", "--processes", processes, "--out", folder, "--json")
        done = gougi(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["shards"], found["games"], found["made_now"]["games"]) == (3, 18, 18)
        assert "positions a CPU second" in done.stderr
        assert "left" in done.stderr
    one, two = (sorted((tmp_path / folder).glob("*.games")) for folder in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]

    (tmp_path / "one" / "shard-000001.games").write_bytes(b"rubbish")
    done = gougi("selfplay", *TINY, "--games", "24", "--out", "one", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "shard-000001.games: no games of gougi selfplay; it is made again" in done.stderr
    assert json.loads(done.stdout)["made_now"]["games"] == 12
    assert (tmp_path / "one" / "shard-000001.games").read_bytes() == two[1].read_bytes()

    done = gougi("selfplay", *TINY, "--games", "24", "--seed", "2", "--out", "one", cwd=tmp_path)
    assert done.returncode == 2
    assert "seed was 1 and is 2" in done.stderr

    done = gougi("selfplay", "stats", "two", "--json", cwd=tmp_path)
    counts = json.loads(done.stdout)
    assert counts["games"] == 18
    text = gougi("selfplay", "stats", "two", cwd=tmp_path).stdout
    assert f"{counts['positions']:,} (" in text and "win-rate scale" in text


@pytest.mark.slow
def test_games_from_positions_of_a_match_go_on_with_the_same_positions_only(tmp_path: Path) -> None:
    moves = ["+2726FU", "-8384FU", "+2625FU", "-8485FU", "+6978KI", "-4132KI", "+3938GI", "-7172GI"]
    (tmp_path / "match" / "records").mkdir(parents=True)
    words = ("selfplay", *TINY, "--plies", "0-2", "--natural", "1", "--openings", "match", "--out", "games", "--json")
    for number, first in enumerate((moves, ["+1716FU", "-1314FU", *moves]), start=1):
        text = "\n".join(["V3.0", "PI", "+", *first, *["+5958OU", "-5152OU", "+5859OU", "-5251OU"] * 3, "%TORYO"])
        (tmp_path / "match" / "records" / f"game-{number:04d}.csa").write_text(text + "\n", encoding="utf-8")
        for games in (6, 12):
            done = gougi(*words, "--games", str(games), cwd=tmp_path)
            if number == 1:
                assert done.returncode == 0, done.stderr
                assert json.loads(done.stdout)["made_now"]["games"] == 6
            else:
                assert done.returncode == 2 and "starts was" in done.stderr


@pytest.mark.slow
def test_the_same_command_goes_on_after_ctrl_c_and_after_a_kill(tmp_path: Path) -> None:
    words = ("selfplay", *TINY, "--games", "600", "--processes", "2", "--out", "games")
    for number in (signal.SIGINT, signal.SIGKILL):
        running = Running(words, tmp_path)
        try:
            running.wait_for("positions kept")
            running.process.send_signal(number)
            assert running.end() == (-number if number == signal.SIGKILL else 130)
            assert running.left_behind(60) == {}
        finally:
            running.kill()
    kept = len(list((tmp_path / "games").glob("*.games")))
    assert 0 < kept < 100
    done = gougi("selfplay", *TINY, "--games", str(6 * (kept + 1)), "--out", "games", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["made_now"]["games"] <= 12


@pytest.mark.slow
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    words = shlex.join([sys.executable, "-m", "gougi", "selfplay", *TINY, "--games", "6", "--out", "games"])
    # No file may be larger than 1 KB: a disk that takes the settings, but no shard.
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; exec {words}"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("gougi: ")
    assert done.stderr.splitlines()[-1].endswith("the same command goes on")
    assert "Traceback" not in done.stderr
    assert [path.name for path in (tmp_path / "games").iterdir() if "shard" in path.name] == []
