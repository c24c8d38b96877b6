"""The evaluation on lesser CPUs (``GOUGI_CPU``): the other kernels pass the same tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.jit import HAS_AVX2, HAS_VNNI

FOLDER = Path(__file__).parent
PROBE = "from worker.jit import HAS_AVX2, HAS_VNNI; print(HAS_AVX2, HAS_VNNI)"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("cpu", "flags", "differs"),
    [
        ("portable", "False False", HAS_AVX2),
        pytest.param("avx2", "True False", HAS_VNNI, marks=pytest.mark.slow),
    ],
)
def test_paths_of_other_cpus(cpu: str, flags: str, differs: bool) -> None:
    """In a process of its own, for the path is chosen at import."""
    if not differs:
        pytest.skip("this is the path taken here anyway")

    def run(*arguments: str | Path) -> str:
        result = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "GOUGI_CPU": cpu},
            cwd=FOLDER.parents[2],
            capture_output=True,
            text=True,
            timeout=580,
            check=False,
        )
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-1000:]
        return result.stdout.strip()

    assert run("-c", PROBE) == flags
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", FOLDER / "test_exact.py")
