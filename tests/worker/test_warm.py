"""After the warm-up nothing compiles any more, whatever of the searcher is used."""

from __future__ import annotations

import os
import shutil
import signal
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


def mtime_ns(path: Path) -> int:
    return path.stat().st_mtime_ns


def run(script: str, variables: dict[str, str]) -> str:
    environment = {**os.environ, **variables}
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True, env=environment)
    return done.stdout.strip()


@pytest.mark.slow
def test_nothing_compiles_after_the_warm_up_and_damaged_files_are_made_again(tmp_path: Path) -> None:
    # In a copy of the cache as the warm-up left it: in the cache itself others have added what the warm-up leaves out.
    warm.warm_up()
    whole = options.cache_dir()
    done = (whole / "complete").stat().st_mtime_ns

    def later(folder: str, names: list[str]) -> set[str]:
        """Files that came after the warm-up, and those that others are writing now."""
        whole = {name for name in names if name.endswith(("nbi", "nbc"))}
        return {name for name in whole if mtime_ns(Path(folder) / name) > done} | {n for n in names if ".tmp." in n}

    shutil.copytree(whole, tmp_path / whole.name, ignore=later)
    own = {"GOUGI_CACHE_DIR": str(tmp_path)}
    assert run(SCRIPT, own) == "nothing compiled"
    (code,) = tmp_path.rglob("tt.probe-*.nbc")
    (index,) = tmp_path.rglob("tt._count_fresh-*.nbi")
    code.write_bytes(b"")
    index.write_bytes(index.read_bytes()[:-1])
    again = run(SCRIPT, own)
    assert "'probe'" in again and "'_count_fresh'" in again and again.count("': {") == 2
    assert run(SCRIPT, own) == "nothing compiled"


def test_a_cache_that_somebody_uses_stays(tmp_path: Path) -> None:
    current = tmp_path / "jit-now"
    current.mkdir()
    for number in range(10):
        (tmp_path / f"jit-{number}").mkdir()
        age_s = 100 * number if number % 2 else 200_000 + number
        os.utime(tmp_path / f"jit-{number}", (time.time() - age_s,) * 2)
    warm._prune(current)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jit-1", "jit-3", "jit-5", "jit-7", "jit-9", "jit-now"]


@pytest.mark.parametrize("name", [*options.OUTSIDE, "search/alphabeta.py", "search/smp.py"])
def test_a_change_of_what_compiled_code_holds_makes_another_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(options._WORKER, tmp_path / "worker", ignore=shutil.ignore_patterns("__pycache__", "*.bin"))
    monkeypatch.setattr(options, "_WORKER", tmp_path / "worker")
    before = options._fingerprint()
    with (tmp_path / "worker" / name).open("a") as source:
        source.write("# changed\n")
    assert (options._fingerprint() != before) is (name not in options.PLAIN_SOURCES)


def test_each_python_has_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = options._fingerprint()
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert options._fingerprint() != here


def test_a_cache_in_which_a_process_lives_stays(tmp_path: Path) -> None:
    folders = [tmp_path / f"jit-{number}" for number in range(7)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        os.utime(folder, (time.time() - 200_000 - number,) * 2)
    for _ in range(2):  # each shard of teacher games asks again
        warm._use(folders[5])
    os.utime(folders[5], (time.time() - 200_005,) * 2)
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    warm._used.pop(folders[5]).close()
    warm._prune(folders[0])
    assert folders[5].exists() and not folders[6].exists()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.utime(folders[5], (time.time() - 200_005,) * 2)
    warm._prune(folders[0])
    assert not folders[5].exists()


def test_each_checkout_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = options._fingerprint()
    assert options._fingerprint() == here
    (tmp_path / "worker").symlink_to(options._WORKER)
    monkeypatch.setattr(options, "_WORKER", tmp_path / "worker")
    assert options._fingerprint() != here
