"""The evaluation without AVX2 and PEXT. `tests.gougi.test_without_posix` has the search, on the same build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.builds import OTHER

NNUE = Path(__file__).parent / "nnue"
EXACT = NNUE / "test_exact.py", NNUE / "sfnn" / "test_sfnn_exact.py"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_portable_evaluation_is_exact_too() -> None:
    """Layers of all sizes: the network that ships has its own kernels."""
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *map(str, EXACT),
        "-k",
        "extreme or few_ or attack_network",
    ]
    env = {**os.environ, **OTHER}
    done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
