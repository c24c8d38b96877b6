"""``gougi learn`` for a user: errors, and a whole run with an end of its hours, a kill and Ctrl-C."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab.training.weights import random_net, to_file
from master.cli import run
from tests.master.command import Running, gougi
from worker.nnue.beside import read_beside, write_beside
from worker.nnue.network import default_file, serialise
from worker.nnue.sfnn.architecture import parse_sfnn_name

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: make torch"
)
OURS = str(default_file())
# The gate's hypotheses are so low that a draw decides it, so that the run has the steps after a promotion.
GPS = """#!/bin/sh
while read -r line; do
  case "$line" in
    usi) echo "id name gpsshogi 0.7"; echo usiok ;;
    isready) echo readyok ;;
    quit) exit ;;
  esac
done
"""
_TRAIN = "--width 128 --hidden 8-8 --batch 64 --validation 0.2 --scale 2000 --tolerance 1000"
TINY = (
    "--games", "20", "--nodes", "30,40", "--epochs", "5", "--processes", "1",
    "--games-options", "--shard 10 --hash 1",
    "--sparring", "gougi", "--sparring-games", "4", "--sparring-options", "--nodes 60 --max-moves 60",
    "--from-best", "--train-options", _TRAIN, "--train-options", f"{_TRAIN} --horizon 4",
    "--gate-nodes", "50", "--gate-games", "40", "--gate-sprt=-3000,-2000",
    "--attacks", "--attack-options", "--lambda 0.8",
    "--gate-options", "--max-moves 60",
    "--match-games", "0",
)  # fmt: skip


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--games", "many"), "--games many: expected numbers with commas"),
        (("--nodes", "400,0"), "--nodes 400,0: expected numbers above 0"),
        (("--gate-games", "3"), "--gate-games 3: expected an even number"),
        (("--gate-sprt", "5"), "--gate-sprt 5: expected two numbers"),
        (("--against", "gps"), "--against gps: expected NAME=PLAYER"),
        (("--against", "a=no-such-engine"), "--against a=no-such-engine: no-such-engine: no such program"),
        (("--against", "a=missing.bin"), "--against a=missing.bin: missing.bin: no such file"),
        (("--against", f"a={OURS}", "--against", "a=env"), "two opponents have this name"),
        (("--against", "a=./gps"), "--against a=./gps: player a does not understand 'go nodes'"),
        (("--sparring", "no-such-engine"), "--sparring no-such-engine: no-such-engine: no such program"),
        (("--sparring-games", "3"), "--sparring-games 3: expected an even number"),
        (("--train-options", "--width '1"), "--train-options"),
        (("--sparring-options", "--byoyomi"), "--sparring-options: --byoyomi: a value is missing"),
        (("--games-options", "--natrual 1"), "--games-options: --natrual: no such option; there is --natural"),
        (("--train-options", "", "--train-options", "--batsch 5"), "--train-options: --batsch: no such option"),
        (("--gate-options", "--resing 0"), "--gate-options: --resing: no such option; there is --resign"),
        (("--train-options", "--rate 1", "--train-options", ""), "several need --from-best"),
        (("--attacks", "--attack-options", "--lamda 1"), "--attack-options: --lamda: no such option"),
        (
            ("--attacks", "--train-options", "--architecture=sfnn_halfkahm2_256_15_32_k3k3"),
            "--attacks: an SFNN network",
        ),
        (("--net", "broken.bin"), "broken.bin"),
    ],
)
def test_errors_are_one_line_and_leave_no_folder(
    arguments: Sequence[str], words: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "gps").write_text(GPS)
    (tmp_path / "gps").chmod(0o755)
    assert words in refusal("learn", "--out", "run", *arguments)


@needs_torch
def test_an_opponent_may_have_an_sfnn_network(tmp_path: Path) -> None:
    architecture = parse_sfnn_name("SFNN_halfkahm2_256_15_32_k3k3")
    (tmp_path / "nn.bin").write_bytes(serialise(to_file(random_net(architecture, 1), architecture)))
    words = ["learn", "--out", str(tmp_path / "run"), "--hours", "0", "--against", f"a={tmp_path / 'nn.bin'}"]
    assert run(words) == 0


@needs_torch
def test_the_first_network_keeps_its_scale(tmp_path: Path) -> None:
    shutil.copy(OURS, tmp_path / "nn.bin")
    write_beside(tmp_path / "nn.bin", {"fv_scale": 24})
    assert run(["learn", "--out", str(tmp_path / "run"), "--hours", "0", "--net", str(tmp_path / "nn.bin")]) == 0
    assert read_beside(tmp_path / "run" / "nets" / "generation-0.bin").fv_scale == 24


def test_without_torch_one_line_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(["learn", "--out", str(tmp_path / "run")]) == 1
    assert "gougi learn needs PyTorch" in capsys.readouterr().err


def test_show_of_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["learn", "show", str(tmp_path)]) == 2
    assert "no run of gougi learn in it" in capsys.readouterr().err
    (tmp_path / "learn.json").write_text('{"version": 7}')
    assert run(["learn", "show", str(tmp_path)]) == 2
    assert "version 7, expected 2" in capsys.readouterr().err


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_whole_cycle_from_an_empty_folder(tmp_path: Path) -> None:
    words = ("learn", "--out", "run", "--generations", "2", *TINY)
    folder = tmp_path / "run"

    # Hours that are over at once are a planned end, and no finished work is lost.
    done = gougi(*words, "--hours", "0.0002", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--hours 0.0002 are over: the same command goes on with more" in done.stderr
    ledger = json.loads((folder / "learn.json").read_text())
    assert [one["kind"] for one in ledger["generations"][0]["steps"]] in ([], ["sparring"])

    # SIGKILL ends the trainer, too.
    running = Running(words, tmp_path)
    try:
        running.wait_for(", validation 0.")
        running.process.kill()
        running.end()
        assert not running.left_behind(60)
    finally:
        running.kill()
    assert not (folder / "generation-1" / "train" / "nn.bin").exists()
    assert (folder / "generation-1" / "train" / "checkpoint.pt").exists()

    # Ctrl-C in the second generation; then to the end.
    running = Running(words, tmp_path)
    try:
        running.wait_for("generation 2: games")
        running.press_ctrl_c()
        assert running.end() == 130, running.output
        assert "interrupted: the same command goes on with run" in running.output
        assert "Traceback" not in running.output and not running.left_behind(30)
    finally:
        running.kill()
    done = gougi(*words, "--json", cwd=tmp_path, timeout_s=800)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["finished"] and found["best"] == 2 and len(found["generations"]) == 2
    first, last = ([step["kind"] for step in one["steps"]] for one in found["generations"])
    assert first == ["sparring", "games", "from-sparring", "train", "attacks", "compare", "gate"]
    assert last == ["sparring", "games", "from-sparring", "train", "train", "blend", "attacks", "compare", "gate"]
    assert found["generations"][1]["teacher"] == 1
    (second,) = (one["command"] for one in found["generations"][1]["steps"] if one["kind"] == "games")
    assert "run/nets/generation-1.bin" in second and second[second.index("--scale") + 1] == "2000"

    best = (folder / "best.bin").read_bytes()
    assert (
        best
        == (folder / "nets" / "generation-2.bin").read_bytes()
        == (folder / "generation-2" / "attacks" / "nn.bin").read_bytes()
        != (folder / "nets" / "generation-0.bin").read_bytes()
    )
    page = (folder / "nets.md").read_text()
    assert page.count("promoted") == 2
    assert "gougi train --data generation-2/games --data generation-2/from-sparring --data generation-1/games" in page
    assert gougi("learn", "show", "run", cwd=tmp_path).stdout.strip() == page.strip()

    # All is there: nothing is made again. Another first net is another run.
    again = gougi(*words, cwd=tmp_path)
    assert again.returncode == 0 and "best net: run/best.bin (generation 2)" in again.stdout and again.stderr == ""
    other = gougi(*words, "--net", "run/best.bin", cwd=tmp_path)
    assert other.returncode == 2 and "began with another net" in other.stderr
