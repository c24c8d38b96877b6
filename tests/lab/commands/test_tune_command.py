"""``gougi tune`` for a user: its errors, the plan, a run that is killed and continued, and its result."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab.training import generation0
from tests.master.command import Running, gougi
from tests.worker.builds import OTHER
from worker.nnue.beside import write_beside
from worker.nnue.format import serialise_network
from worker.nnue.network import default_file
from worker.search.parameters import CHECK_BONUS

TINY = ("--params", "LATE_MOVES=1:9:2,NULL_BASE", "--nodes", "100", "--hash", "1", "--rate", "5", "--concurrency", "1")
OPENINGS = "startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing is to be tuned"),
        (("--params", "lmr", "--rate", "-1"), "rate is -1"),
        (("--params", "lmr", "--net", "broken.bin"), "broken.bin"),
        (("show", "."), "no run of gougi tune in it"),
        (("export", "."), "no run of gougi tune in it"),
    ],
)
def test_errors_are_one_line_and_leave_no_folder(
    arguments: Sequence[str], words: str, refusal: Callable[..., str]
) -> None:
    assert words in refusal("tune", *arguments)


def test_the_plan_shows_ranges_and_gains_and_plays_nothing(tmp_path: Path) -> None:
    done = gougi("tune", "--params", "order,LATE_MOVES=1:9:2", "--iterations", "500", "--plan", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["LATE_MOVES"][:4] == ["3", "1", "9", "2"]
    assert rows["CHECK_BONUS"][:3] == [f"{CHECK_BONUS}", "0", f"{2 * CHECK_BONUS}"]
    assert "500 iterations of 2 games, 20,000 nodes a move" in done.stdout
    done = gougi("tune", "--params", "LATE_MOVES", "--nodes", "50", "--plan", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["games"]["nodes"] == 50
    assert list(tmp_path.iterdir()) == []


def test_the_scale_beside_a_network_counts(tmp_path: Path) -> None:
    for name in ("own.bin", "other.bin"):
        shutil.copy(default_file(), tmp_path / name)
    write_beside(tmp_path / "own.bin", {"fv_scale": 24})
    words = ("tune", "--params", "LATE_MOVES", "--plan", "--json", "--net", "own.bin")
    for more, scale in (((), 24), (("--net", "other.bin", "--fv-scale", "20"), 20)):
        done = gougi(*words, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["games"]["fv_scale"] == scale
    done = gougi(*words, "--net", "other.bin", cwd=tmp_path)
    assert done.returncode == 2 and "give one by --fv-scale" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_run_that_is_killed_goes_on_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "openings").write_text(OPENINGS)
    # Its quick games are not all won by the same colour: so parameters move.
    (tmp_path / "net.bin").write_bytes(serialise_network(generation0.build()))
    shutil.copy(default_file(), tmp_path / "own.bin")
    nets = ("--net", "net.bin", "--net", "own.bin")
    words = ("tune", *TINY, *nets, "--seed", "3", "--iterations", "14", "--openings", "openings")
    whole = gougi(*words, "--out", "whole", "--json", cwd=tmp_path, env=OTHER, timeout_s=900)
    assert whole.returncode == 0, whole.stderr
    found = json.loads(whole.stdout)
    assert (found["taken"], found["games"], found["finished"]) == (14, 28, True)
    assert any(row["change"] for row in found["parameters"])

    running = Running((*words, "--concurrency", "2", "--out", "broken"), tmp_path, OTHER)
    try:
        results = tmp_path / "broken" / "results.jsonl"
        running.wait_for("pairs at a time: 2", 300)
        while running.process.poll() is None and (not results.exists() or results.read_bytes().count(b"\n") < 5):
            time.sleep(0.02)
        running.process.send_signal(signal.SIGKILL)
        running.end()
        assert running.left_behind(30) == {}
    finally:
        running.kill()
    with results.open("ab") as file:
        file.write(b'{"iteration": 1')
    standing = json.loads(gougi("tune", "show", "broken", "--json", cwd=tmp_path).stdout)
    assert 10 <= standing["games"] < 28
    again = gougi(*words, "--out", "broken", "--json", cwd=tmp_path, env=OTHER)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == {**found, "folder": "broken"}

    other = gougi(*words, "--out", "broken", "--seed", "2", cwd=tmp_path, env=OTHER)
    assert other.returncode == 2 and "seed was 3 and is 2" in other.stderr
    (tmp_path / "others").write_text(OPENINGS.splitlines()[0])
    other = gougi(*words, "--out", "broken", "--openings", "others", cwd=tmp_path, env=OTHER)
    assert other.returncode == 2 and "broken: begun with other openings than those of others" in other.stderr
    shown = gougi("tune", "show", "whole", cwd=tmp_path).stdout
    assert "NULL_BASE" in shown and "14/14 iterations, 28/28 games" in shown
    lines = gougi("tune", "export", "whole", cwd=tmp_path).stdout.splitlines()
    now = {row["name"]: round(row["now"]) for row in found["parameters"] if round(row["now"]) != row["start"]}
    assert lines == [f"{name}: Final = {value}" for name, value in now.items()]
    env = gougi("tune", "export", "--env", "whole", cwd=tmp_path).stdout
    assert env == "GOUGI_PARAMETERS=" + ",".join(f"{name}={value}" for name, value in now.items()) + "\n"
