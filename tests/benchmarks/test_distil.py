"""The test bench for trainers: labels are the teacher's own, and a pupil comes nearer to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import distil
from lab.selfplay.shard import Tree
from tests.lab.training.shards import tree_folder_of
from worker.nnue.format import read_network, serialise_network
from worker.nnue.network import default_file

pytest.importorskip("torch", reason="PyTorch is not installed: make torch")


@pytest.mark.slow
def test_a_pupil_comes_nearer_to_its_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    data = tree_folder_of(tmp_path / "trees", shards=1, games=60)
    pupil = tmp_path / "pupil.bin"
    pupil.write_bytes(_shaken(default_file()))
    words = ["distil", "--data", data, "--pupil", pupil, "--teacher", default_file(), "--out", tmp_path / "out"]
    options = ["--positions", "1000", "--samples", "60000", "--train", "--batch 256 --rate 0.0005"]
    monkeypatch.setattr("sys.argv", [*map(str, words), *options])
    distil.main()
    rows = [line.split("|")[-2] for line in capsys.readouterr().out.splitlines()[2:]]
    before, after = map(float, rows)
    assert before > 0.02 and after < 0.8 * before
    labelled = Tree.open(tmp_path / "out" / "labels-1000" / "shard-000000.tree").records
    own = distil.centipawns(read_network(default_file()), labelled)
    assert np.abs(labelled["score"] - own).max() <= 0.5
    distil.main()  # goes on where it was: nothing is trained again
    assert [line.split("|")[-2] for line in capsys.readouterr().out.splitlines()[2:]] == rows


def _shaken(net: Path) -> bytes:
    """A net with noise on its output layer."""
    network = read_network(net)
    rng = np.random.default_rng(1)
    first, second, last = network.weights
    noisy = (last + rng.integers(-60, 61, last.shape)).clip(-127, 127).astype(np.int8)
    return serialise_network(replace(network, weights=(first, second, noisy)))
