"""Closed programs: the same results as open ones, private callees, and code from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import worker

SCRIPT = """
import sys
from numba import int64
from worker.jit import jit
from worker.jit.llvm import never_inline

@jit()
def rare(n: int) -> int:
    never_inline()
    return n * 3 + 1

@jit()
def collatz(n: int, steps: int) -> int:
    if n == 1:
        return steps
    return collatz(rare(n) if n % 2 else n // 2, steps + 1)

@jit(whole=True)
def closed(n: int) -> int:
    return collatz(n, n - n)

@jit()
def open_one(n: int) -> int:
    return collatz(n, n - n)

first, second = (closed, open_one) if sys.argv[1] == "closed" else (open_one, closed)
answers = [first(27), second(27), closed(97), open_one(97), rare(3)]
print(*answers, *(len(one.stats.cache_hits) for one in (closed, open_one)))
if not closed.stats.cache_hits:
    for one in (closed, open_one):
        code = next(iter(one.inspect_llvm().values()))
        for line in code.splitlines():
            if line.startswith("define") and ("rare" in line or "collatz" in line):
                name = "rare" if "rare" in line else "collatz"
                print(one.__name__, name, "internal" in line, "linkonce_odr" in line, ".closed" in line)
"""


def ask(folder: Path, first: str) -> list[str]:
    script = folder / "program.py"
    script.write_text(SCRIPT)
    environment = {
        **os.environ,
        "GOUGI_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(Path(worker.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, str(script), first], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.splitlines()


def test_a_closed_program_has_callees_of_its_own_and_the_same_results(tmp_path: Path) -> None:
    results, *functions = ask(tmp_path, "closed")
    assert results == "111 111 118 118 10 0 0"
    assert set(functions) == {
        "closed rare True False True",
        "closed collatz True False True",
        "open_one rare False True False",
        "open_one collatz False True False",
    }
    for first in ("closed", "open"):
        assert ask(tmp_path, first) == ["111 111 118 118 10 1 1"]
