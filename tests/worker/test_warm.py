"""After the warm-up nothing compiles any more, in any use of the searcher."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from worker import warm
from worker.jit import cache


def copy_of_the_warmed(to: Path) -> dict[str, str]:
    """Copy the cache without later additions by tests; returns the environment that finds the copy."""
    warm.warm_up()
    whole = cache.cache_dir()
    done = (whole / "complete").stat().st_mtime_ns

    def later(folder: str, names: list[str]) -> set[str]:
        """Files that came after the warm-up, other warm-ups' marks, and files that others are writing now."""
        code = {name for name in names if name.endswith(("nbi", "nbc"))}
        newer = {name for name in code if (Path(folder) / name).stat().st_mtime_ns > done}
        return newer | {name for name in names if ".tmp." in name or name.startswith("complete-")}

    shutil.copytree(whole, to / whole.name, ignore=later)
    return {"GOUGI_CACHE_DIR": str(to)}


def run(script: str, variables: dict[str, str], *arguments: str) -> str:
    """Run a script in a separate process, which has compiled nothing yet; returns its output."""
    environment = {**os.environ, **variables}
    words = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# In a separate process: this one has compiled code for other tests.
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
engine.share(2)
engine.share_histories(True)
engine.go(Limits(depth=4, multipv=3))
engine.absorb_entries(engine.take_entries())
engine.absorb_changes([engine.take_changes(100)])
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


@pytest.mark.slow
def test_nothing_compiles_after_the_warm_up_and_damaged_files_are_made_again(tmp_path: Path) -> None:
    own = copy_of_the_warmed(tmp_path)
    assert run(SCRIPT, own) == "nothing compiled"
    (code,) = tmp_path.rglob("tt.probe-*.nbc")
    (index,) = tmp_path.rglob("tt._count_fresh-*.nbi")
    code.write_bytes(b"")
    index.write_bytes(index.read_bytes()[:-1])
    again = run(SCRIPT, own)
    assert "'probe'" in again and "'_count_fresh'" in again and again.count("': {") == 2
    assert run(SCRIPT, own) == "nothing compiled"


@pytest.mark.parametrize("name", [*cache.OUTSIDE, "search/alphabeta.py", "search/thread.py"])
def test_a_change_of_compiled_in_values_makes_another_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(cache._WORKER, tmp_path / "worker", ignore=shutil.ignore_patterns("__pycache__", "*.bin"))
    monkeypatch.setattr(cache, "_WORKER", tmp_path / "worker")
    before = cache._fingerprint()
    with (tmp_path / "worker" / name).open("a") as source:
        source.write("# changed\n")
    assert (cache._fingerprint() != before) is (name not in cache.PLAIN_SOURCES)


def test_each_python_has_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = cache._fingerprint()
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert cache._fingerprint() != here


def test_checkouts_of_the_same_sources_share_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = cache._fingerprint()
    copy = tmp_path / "worker"
    shutil.copytree(cache._WORKER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "_WORKER", copy)
    assert cache._fingerprint() == here
