"""``gougi train`` and ``gougi net`` for a user: errors, a run, Ctrl-C and a second run, the net in a player."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.random_networks import random_attack_network, random_network
from lab.commands.train import TORCH
from master.cli import run
from tests.lab.training.shards import folder_of
from tests.master.command import ROOT, Running, gougi
from worker.nnue.architecture import Architecture
from worker.nnue.beside import write_beside
from worker.nnue.features import K_P
from worker.nnue.format import read_network, serialise_network
from worker.nnue.network import default_file

OURS = str(default_file())
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: make torch"
)
TINY = (
    "--width",
    "128",
    "--hidden",
    "8-8",
    "--batch",
    "64",
    "--validation",
    "0.2",
    "--scale",
    "2000",
    "--threads",
    "1",
)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("games") / "games", shards=3, games=12)


def test_without_torch_one_line_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "games").mkdir()
    assert run(["train", "--data", str(tmp_path / "games"), "--out", str(tmp_path / "run")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("gougi: gougi train needs PyTorch") and TORCH in told and told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_version_named_is_that_of_the_extra() -> None:
    import tomllib

    facts = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert facts["project"]["optional-dependencies"]["train"] == [TORCH]


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lambda", "high"), "--lambda high: expected two shares A-B"),
        (("--lambda", "1-1.5"), "score_to is 1.5"),
        (("--hidden", "32"), "--hidden 32: expected two whole numbers N-M"),
        (("--width", "100"), "width is 100"),
        (("--features", "P"), "features is P: expected one of K+P"),
        (("--epochs", "2", "--positions", "5"), "epochs and positions"),
        (("--from", "broken.bin"), "broken.bin"),
        (("--from", OURS, "--width", "128"), "--from: its width is 256, not 128: it only grows"),
        (("--architecture", "SFNN_ka2_64_15_8"), "SFNN_ka2_64_15_8: its features cannot be trained"),
        (("--architecture", "kp"), "--architecture kp: expected a name such as halfkp_512x2-8-64"),
        (("--architecture", "kp_256x2-8-8", "--width", "128"), "--architecture: expected it without --features"),
        (("--from", OURS, "--architecture", "SFNN_kp_256_31_32"), "they are of different families"),
        (("--device", "tpu"), "device is tpu"),
        (("--data", "missing"), "missing"),
    ],
)
def test_errors_are_one_line_and_leave_no_folder(
    arguments: Sequence[str], words: str, games: Path, refusal: Callable[..., str]
) -> None:
    assert words in refusal("train", "--data", str(games), "--out", "run", *arguments)


@needs_torch
def test_a_net_keeps_the_attack_network_and_the_scale_beside_the_one_it_begins_with(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = tmp_path / "nn.bin"
    begin = replace(random_network(Architecture(K_P, 128, 8, 8), 1), attack_network=random_attack_network())
    net.write_bytes(serialise_network(begin))
    write_beside(net, {"fv_scale": 24})
    words = ["--from", str(net), "--out", str(tmp_path / "run"), "--epochs", "1", "--tolerance", "1000"]
    assert run(["train", "--data", str(games), *words, *TINY[4:]]) == 0
    capsys.readouterr()
    assert run(["net", "info", str(tmp_path / "run" / "nn.bin"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["fv_scale"] == 24 and facts["attack_network"] == [256, 64, 32, 1]
    assert read_network(tmp_path / "run" / "nn.bin").attack_network == begin.attack_network
    write_beside(net, {"fv_scale": 25})
    assert run(["train", "--data", str(games), *words, *TINY[4:]]) == 2
    assert "from_scale was 24 and is 25" in capsys.readouterr().err


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_from_games_to_a_net_that_plays(games: Path, tmp_path: Path) -> None:
    settings = ("--data", str(games), *TINY, "--epochs", "12", "--debias")
    words = ("train", "--out", "net", *settings)
    done = gougi(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["finished"] and report["quantised_rms"] <= 10
    assert report["positions"] >= 12 * report["training_positions"] > 0
    assert "positions a second" in done.stderr and "in integers" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "net" / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["training_loss"] < rows[0]["training_loss"]
    net = tmp_path / "net" / "nn.bin"
    corrections = json.loads((tmp_path / "net" / "data.json").read_text())["corrections"]
    assert [len(table) for table in corrections.values()] == [K_P.dimensions]

    # The same command again only prints the result; other settings are refused.
    again = gougi(*words, "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == report
    other = gougi(*words, "--seed", "2", cwd=tmp_path)
    assert other.returncode == 2 and "seed was 1 and is 2" in other.stderr

    # Interrupted by Ctrl-C and continued: the same bytes.
    running = Running(("train", "--out", "stopped", *settings), tmp_path)
    try:
        running.wait_for("validation 0.")
        running.press_ctrl_c()
        assert running.end() == 130, running.output
        assert "interrupted: the same command goes on with stopped" in running.output
        assert "Traceback" not in running.output
    finally:
        running.kill()
    assert not (tmp_path / "stopped" / "nn.bin").exists()
    done = gougi("train", "--out", "stopped", *settings, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stopped" / "nn.bin").read_bytes() == net.read_bytes()

    # A second run starts from that net; its result is not exact enough.
    strict = gougi(
        "train", "--data", str(games), "--out", "strict", "--from", "net/nn.bin", *TINY[4:],
        "--epochs", "1",        "--tolerance", "0.001", cwd=tmp_path,
    )  # fmt: skip
    assert strict.returncode == 1
    assert "centipawns rms, more than 0.001: a longer" in strict.stderr.splitlines()[-1]
    assert not (tmp_path / "strict" / "nn.bin").exists()

    # The net plays.
    usi = f"setoption name EvalFile value {net}\nisready\nposition startpos\ngo nodes 500\nquit\n"
    played = gougi("usi", "--single", cwd=tmp_path, text=usi)
    assert "readyok" in played.stdout and "bestmove " in played.stdout, played.stdout + played.stderr
    facts = json.loads(gougi("net", "info", str(net), "--json", cwd=tmp_path).stdout)
    assert facts["sha256"] == report["sha256"] and facts["width"] == 128
    text = gougi("net", "info", str(net), cwd=tmp_path).stdout
    assert "8<-256" in text and report["sha256"] in text


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A random network of another shape, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.bin").write_bytes(serialise_network(random_network(Architecture(K_P, 128, 8, 8), 1)))
    return "other.bin"


def test_net_compare_shows_how_two_networks_differ(games: Path, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["net", "compare", OURS, other, "--positions", "60", "--data", str(games)]
    assert run([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["positions"] == 60 and facts["rms"] > 0 and abs(facts["correlation"]) < 0.9
    # A random net may explain nothing at all.
    assert facts["results_a"]["loss"] < (facts["results_b"] or {"loss": 0.6932})["loss"]
    assert run(words) == 0
    text = capsys.readouterr().out
    assert "correlation" in text and "result loss, A" in text
    assert run(["net", "info", "missing.bin"]) == 2
    capsys.readouterr()
    Path("broken.bin").write_bytes(b"no network")
    assert run(["net", "info", "broken.bin"]) == 2
    assert capsys.readouterr().err.startswith("gougi: broken.bin")


def test_net_blend_writes_a_net_that_stands_between_two(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for share, words in (("0", "100% of"), ("0.5", "50% of")):
        assert run(["net", "blend", OURS, OURS, "--share", share, "--out", "mean.bin"]) == 0
        assert words in capsys.readouterr().out
        assert (tmp_path / "mean.bin").read_bytes() == Path(OURS).read_bytes()
    assert run(["net", "blend", OURS, OURS, OURS, "--out", "new/mean.bin", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["shares"] == pytest.approx([1 / 3] * 3)
    assert facts["sha256"] == hashlib.sha256((tmp_path / "new" / "mean.bin").read_bytes()).hexdigest()
    assert run(["net", "blend", OURS, "--out", "mean.bin"]) == 2
    assert "expected two networks or more" in capsys.readouterr().err
    assert run(["net", "blend", OURS, other, "--out", "mean.bin"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "differ in shape or FV_SCALE" in line


def test_a_blend_keeps_the_scale_beside_its_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.bin", "b.bin"):
        shutil.copy(OURS, tmp_path / name)
        write_beside(tmp_path / name, {"fv_scale": 24})
    assert run(["net", "blend", "a.bin", "b.bin", "--out", "mean.bin"]) == 0
    assert read_network(tmp_path / "mean.bin").architecture.fv_scale == 24
    capsys.readouterr()
    assert run(["net", "blend", "a.bin", OURS, "--out", "mean.bin"]) == 2
    assert "differ in shape or FV_SCALE" in capsys.readouterr().err


@needs_torch
def test_net_attacks_writes_a_net_with_an_attack_network(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    games = folder_of(tmp_path / "games", shards=12)
    assert run(["net", "attacks", other, "--data", str(games), "--out", "new/attacks.bin", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["sha256"] == hashlib.sha256(Path("new/attacks.bin").read_bytes()).hexdigest()
    assert facts["positions"] > facts["held_out"] > 0 and facts["before"] != facts["after"]
    assert run(["net", "info", "new/attacks.bin"]) == 0
    assert "attack network      256 -> 64 -> 32 -> 1\n" in capsys.readouterr().out
    assert run(["net", "attacks", other, "--data", "missing", "--out", "x.bin"]) == 2
