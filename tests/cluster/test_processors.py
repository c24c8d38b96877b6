"""Processors of a container."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from cluster.processors import processors

BOUND = len(os.sched_getaffinity(0))
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


def written(folder: Path, mine: str, files: Mapping[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "mine").write_text(mine)
    return folder / "cgroup", folder / "mine"


@pytest.mark.parametrize(
    ("mine", "files"),
    [
        # version 2: in a container, as a service, in a group of a limited group, beside version 1
        ("0::/\n", {"cpu.max": "100000 100000\n"}),
        ("0::/a.slice/b\n", {"a.slice/b/cpu.max": "150000 100000\n"}),
        ("0::/a.slice/b\n", {"a.slice/cpu.max": "100000 100000\n", "a.slice/b/cpu.max": "max 100000\n"}),
        ("2:memory:/\n0::/\n", {"unified/cpu.max": "1000 1000\n"}),
        # version 1: as a service, in a container that sees the host's path, less than one processor
        ("4:cpu,cpuacct:/a\n", {f"cpu,cpuacct/a/{QUOTA}": "100000\n", f"cpu,cpuacct/a/{PERIOD}": "100000\n"}),
        ("4:cpu:/docker/1f\n", {f"cpu/{QUOTA}": "50000\n", f"cpu/{PERIOD}": "50000\n"}),
        ("4:cpu:/\n", {f"cpu/{QUOTA}": "20000\n", f"cpu/{PERIOD}": "100000\n"}),
    ],
)  # fmt: skip
def test_a_limit_of_one(tmp_path: Path, mine: str, files: Mapping[str, str]) -> None:
    assert processors(*written(tmp_path, mine, files)) == 1


@pytest.mark.parametrize(
    ("mine", "files"),
    [
        ("0::/\n", {}),
        ("0::/\n", {"cpu.max": "max 100000\n"}),
        ("0::/\n", {"cpu.max": "6400000 100000\n"}),
        ("0::/\n", {"cpu.max": "rubbish\n"}),
        ("4:cpu:/\n", {f"cpu/{QUOTA}": "-1\n", f"cpu/{PERIOD}": "100000\n"}),
        ("4:memory:/\n", {"memory/cpu.max": "100000 100000\n"}),
        ("rubbish\n", {"cpu.max": "100000 100000\n"}),
    ],
)
def test_no_limit(tmp_path: Path, mine: str, files: Mapping[str, str]) -> None:
    assert processors(*written(tmp_path, mine, files)) == min(BOUND, 64)


def test_a_kernel_without_groups(tmp_path: Path) -> None:
    assert processors(tmp_path, tmp_path / "none") == BOUND
