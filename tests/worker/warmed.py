"""The cache of compiled code directly after the searcher's warm-up, for tests of its content."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
