"""Without AVX2 and PEXT everything comes out the same, to the node. The tuning build stands for both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.builds import OTHER
from worker.search.bench import run_bench

SCRIPT = """
from worker.jit import HAS_AVX2, HAS_PEXT
from worker.search.bench import run_bench
from worker.shogi import Position
from worker.warm import warm_up
assert not HAS_AVX2 and not HAS_PEXT
warm_up()
print(Position.startpos().perft(4))
print(Position.from_sfen("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1").perft(3))
print(run_bench(depth=8).signature)
"""


NNUE = Path(__file__).parent / "nnue"
EXACT = NNUE / "test_exact.py", NNUE / "sfnn" / "test_sfnn_exact.py"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_portable_evaluation_is_exact_too() -> None:
    """Layers of all sizes: the network that ships has its own kernels."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, EXACT), "-k", "extreme or few_"]
    env = {**os.environ, **OTHER}
    done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_portable_path_searches_the_same_tree() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **OTHER},
        capture_output=True,
        text=True,
        timeout=580,
        check=True,
    )
    assert done.stdout.split() == ["719731", "4809015", run_bench(depth=8).signature]
