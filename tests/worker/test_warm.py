"""After the warm-up nothing compiles any more, whatever of the searcher is used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from worker import warm
from worker.jit import options

# In a process of its own: this one has compiled things for other tests.
SCRIPT = """
from worker.warm import warm_up
warm_up()
import gc
import numba
from worker.engine import Limits
from worker.search.engine import NumbaEngine
from worker.search.bench import run_bench
from worker.shogi import Position, MoveError
run_bench(depth=3)
engine = NumbaEngine(hash_mb=1, threads=2)
engine.go(Limits(depth=4, multipv=3))
position = Position.startpos()
for text in ("7g7f", "3c3d", "8h2b+", "3a2b"):
    position.push_usi(text)
    position.copy().pop()
    position.legal_moves(), position.is_mated(), position.repetition(), position.can_declare(), position.in_check()
for _ in range(3):
    position.push_all(["2h3h", "8b7b", "3h2h", "7b8b"])
position.repetition(), position.perft(2), Position.from_sfen(position.sfen())
from worker.mate import MateSolver
MateSolver(1).solve(Position.from_sfen("1p1n2gnl/l6gg/3PPP+S1k/p4R1Pp/bnpp3p1/4B1PSP/P2+s1ppSK/g8/LNP5L b R2p 52"))
MateSolver(1).solve(Position.startpos())
import worker.nnue as nnue
state = nnue.NnueState(nnue.default_network())
nnue.evaluate(position.record, state.record), nnue.evaluate_full(position.record, state.record)
compiled = {
    d.py_func.__qualname__: dict(d.stats.cache_misses)
    for d in gc.get_objects()
    if isinstance(d, numba.core.dispatcher.Dispatcher)
    and d.py_func.__module__.startswith("worker.")
    and d.stats.cache_misses
}
print(compiled or "nothing compiled")
"""


def test_nothing_compiles_after_the_warm_up() -> None:
    # The first process may have to warm the cache; in the second any compilation is one that the warm-up left out.
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout.strip() == "nothing compiled"


def test_a_cache_that_somebody_uses_stays(tmp_path: Path) -> None:
    current = tmp_path / "jit-now"
    current.mkdir()
    for number in range(10):
        (tmp_path / f"jit-{number}").mkdir()
        age_s = 100 * number if number % 2 else 200_000 + number
        os.utime(tmp_path / f"jit-{number}", (time.time() - age_s,) * 2)
    warm._prune(current)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jit-1", "jit-3", "jit-5", "jit-7", "jit-9", "jit-now"]


def test_each_checkout_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = options._fingerprint()
    assert options._fingerprint() == here
    (tmp_path / "worker").symlink_to(options._WORKER)
    monkeypatch.setattr(options, "_WORKER", tmp_path / "worker")
    assert options._fingerprint() != here
