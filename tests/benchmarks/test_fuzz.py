"""The fuzz targets: all that they begin with is read, and the command runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fuzz.__main__ import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    target = TARGETS[name]()
    seeds = list(target.seeds())
    assert seeds
    for seed in seeds:
        target.one(seed)
        target.one(seed[: len(seed) // 2])


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris has no build for this machine or this Python")
    command = [
        sys.executable,
        "-m",
        "benchmarks.fuzz",
        "channel",
        "config",
        "--seconds",
        "2",
        "--folder",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout
    assert "channel: nothing found" in done.stdout
    assert "config: nothing found" in done.stdout
    assert len(list((tmp_path / "config").iterdir())) > len(list(TARGETS["config"]().seeds())), "inputs were kept"
