"""The cache of compiled code as the warm-up of the searcher left it, for tests of what is warmed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from worker import warm
from worker.jit import cache


def copy_of_the_warmed(
    to: Path, warm_up: Callable[[], object] = warm.warm_up, mark: str = "complete"
) -> dict[str, str]:
    """Copy the cache without what tests have added since that warm-up; returns the environment that finds the copy."""
    warm_up()
    whole = cache.cache_dir()
    done = (whole / mark).stat().st_mtime_ns

    def later(folder: str, names: list[str]) -> set[str]:
        """Files that came after the warm-up, later warm-ups' marks, and those that others are writing now."""
        kept = {name for name in names if name.endswith(("nbi", "nbc")) or name.startswith("complete")}
        newer = {name for name in kept if (Path(folder) / name).stat().st_mtime_ns > done}
        return newer | {name for name in names if ".tmp." in name}

    shutil.copytree(whole, to / whole.name, ignore=later)
    return {"GOUGI_CACHE_DIR": str(to)}


def run(script: str, variables: dict[str, str], *arguments: str) -> str:
    """Run a script in a process of its own, which has compiled nothing yet; returns what it prints."""
    environment = {**os.environ, **variables}
    words = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
