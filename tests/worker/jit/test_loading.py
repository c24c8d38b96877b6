"""Code from the cache: without what only the compiler needs, and all the same a part of code that is compiled later."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import worker

SCRIPT = """
import sys
from worker.jit import jit

@jit()
def triple(n: int) -> int:
    return n * 3

@jit()
def caller(n: int) -> int:
    return triple(n) + 1

print(triple(5), len(triple.stats.cache_hits), "numba.np.linalg" in sys.modules, *[caller(7)] * (len(sys.argv) - 1))
"""


def test_loaded_code_needs_no_compiler_until_it_is_called_by_new_code(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    root = str(Path(worker.__file__).parents[1])
    environment = {**os.environ, "GOUGI_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": root}

    def run(*words: str) -> str:
        command = [sys.executable, str(script), *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=True
        ).stdout.strip()

    assert run() == "15 0 True"
    assert run() == "15 1 False"
    assert run("caller") == "15 1 False 22"
