"""The bench's signature is the same in every process, and changes only on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.training.generation0 import build
from worker.nnue.format import serialise_network
from worker.search.bench import POSITIONS, run_bench

SCRIPT = "from worker.search.bench import run_bench; print(run_bench(depth=7).signature)"
SIGNATURE = "c4532a4f4ba54481"
"""The tree of today's search at depth 9 with generation 0, independent of the net that ships. A deliberate change of
the search puts the new value here; after a change for speed alone, a difference is a fault."""


def test_signature_is_equal_in_every_process() -> None:
    here = run_bench(depth=7)
    assert len(here.nodes) == len(POSITIONS)
    assert min(here.nodes) > 0
    other = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=True)
    assert other.stdout.strip() == here.signature
    assert run_bench(depth=6).signature != here.signature


def test_the_search_is_the_one_that_was_measured(tmp_path: Path) -> None:
    net = tmp_path / "nn.bin"
    net.write_bytes(serialise_network(build()))
    assert run_bench(depth=9, eval_file=str(net)).signature == SIGNATURE
