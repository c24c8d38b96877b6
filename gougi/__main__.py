"""The ``gougi`` script and ``python -m gougi``. Ctrl-C is no traceback either while the command is being imported."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit code (docs/reference/exit-codes.md has the table).

    Every command has cleaned up by then. The interpreter's own clean-up is left out: it would wait for threads that may
    be in compiled code, and turn a Ctrl-C that comes meanwhile into a traceback.

    Args:
        words: those after ``gougi``; None: those of this process.
    """
    try:
        # Whoever starts us may have blocked it until somebody is here to take it (`gougi learn` does).
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        from master.cli import run

        code = run(words)
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def usi() -> NoReturn:
    """The ``gougi-usi`` script, for GUIs that start an engine without arguments: one searcher, or the fleet where the
    configuration says so. With arguments it is ``gougi usi``."""
    words = sys.argv[1:]
    main(["usi", *words] if words or _wants_fleet() else ["usi", "--single"])


def _wants_fleet() -> bool:
    """``[usi] fleet``. The configuration is loaded only where there is one, for that takes as long as all else."""
    from master.config_file import find_file

    if "GOUGI_USI_FLEET" not in os.environ and find_file() is None:
        return False
    from master.commands.common import CommandError
    from master.commands.settings import load

    try:
        return load(None).usi.fleet
    except CommandError:
        return True  # its command tells what is wrong


if __name__ == "__main__":
    main()
