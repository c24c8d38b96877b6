"""`worker.warm.warm_up` in a separate process, for programs that must be able to end in the meantime.

Compilation cannot be interrupted, and blocks all other threads of its process again and again.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from worker.jit import cache_dir
from worker.jit.cache import mark_used

if TYPE_CHECKING:
    from worker.warm import Progress


class WarmingError(Exception):
    """The compilation failed; the text is the last line that its process wrote."""


class Warming:
    """One `warm_up`, in a separate process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ended = False

    def run(self, progress: Progress | None = None) -> bool:
        """Compile everything that is not compiled yet; blocks. If the cache is warm, no process is started.

        Returns:
            Whether everything is compiled now; False: `end` was called first.

        Raises:
            WarmingError: the process failed.
        """
        if _is_complete():
            mark_used(cache_dir())
            return True
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_paths())}
        with self._lock:
            if self._ended:
                return False
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", "-m", "worker.warming"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                text=True,
                errors="replace",
            )
        assert process.stdout is not None
        words: deque[str] = deque(maxlen=1)
        with process:
            for line in process.stdout:
                number, _, rest = line.strip().partition("/")
                total, _, stage = rest.partition(" ")
                if number.isdecimal() and total.isdecimal():
                    if progress is not None:
                        progress(stage, int(number), int(total))
                elif line.strip():
                    words.append(line.strip())
        # Not by the exit status: other code that reaps this process's children may have taken it.
        complete = _is_complete()
        if not complete and not self._ended:
            raise WarmingError("".join(words) or "the compiler ended without a word")
        if complete:
            mark_used(cache_dir())
        return complete

    def end(self) -> None:
        """End it at any point, from any thread. A process that has not started yet does not start."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()


def _paths() -> list[str]:
    """The folders of imports, with that of our own packages. A Python session has the current folder as an empty text,
    in which the other process would not search."""
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        here = ""
    paths = [path or here for path in sys.path if path or here]
    ours = str(Path(__file__).resolve().parents[__name__.count(".")])
    return paths if ours in paths else [ours, *paths]


def _is_complete() -> bool:
    return (cache_dir() / "complete").exists()


def main() -> None:
    """Compile, and print the progress on standard output."""
    from worker.warm import warm_up

    warm_up(lambda stage, number, total: print(f"{number}/{total} {stage}", flush=True))


if __name__ == "__main__":
    main()
