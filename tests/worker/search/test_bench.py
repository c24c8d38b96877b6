"""The bench's signature is the same in every process."""

from __future__ import annotations

import subprocess
import sys

from worker.search.bench import POSITIONS, run_bench

SCRIPT = "from worker.search.bench import run_bench; print(run_bench(depth=7).signature)"


def test_signature_is_equal_in_every_process() -> None:
    here = run_bench(depth=7)
    assert len(here.nodes) == len(POSITIONS)
    assert min(here.nodes) > 0
    other = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=True)
    assert other.stdout.strip() == here.signature
    assert run_bench(depth=6).signature != here.signature
