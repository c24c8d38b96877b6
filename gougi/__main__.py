"""The ``gougi`` script and ``python -m gougi``. Ctrl-C never gives a traceback, not even during imports."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process with its exit code (docs/reference/exit-codes.md has the table).

    Every command has cleaned up by then. The interpreter's own clean-up is skipped: it would wait for threads that may
    be in compiled code, and turn a Ctrl-C during that time into a traceback.

    Args:
        words: the arguments after ``gougi``; None: those of this process.
    """
    _complete_streams()
    try:
        # A parent process may have blocked it until a handler exists (`gougi learn` does).
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        words = sys.argv[1:] if words is None else words
        if list(words) == ["usi", "--single"]:
            # Without the command line's own code: its import takes as long as the answer to ``usi``.
            from master.commands.common import ended
            from master.commands.single import single_engine

            code = ended(single_engine)
        else:
            from master.cli import run

            code = run(words)
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _complete_streams() -> None:
    """A standard stream that the caller has closed becomes the null device; otherwise the next file gets its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def usi() -> NoReturn:
    """The ``gougi-usi`` script, for GUIs that start an engine without arguments: one searcher, or the fleet if the
    configuration says so. With arguments it is ``gougi usi``."""
    words = sys.argv[1:]
    main(["usi", *words] if words or _wants_fleet() else ["usi", "--single"])


def _wants_fleet() -> bool:
    """``[usi] fleet``. The configuration is loaded only if a file exists: loading takes as long as everything else."""
    from master.config_file import find_file

    if "GOUGI_USI_FLEET" not in os.environ and find_file() is None:
        return False
    from master.commands.common import CommandError
    from master.commands.settings import load

    try:
        return load(None).usi.fleet
    except CommandError:
        return True  # its command reports the error


if __name__ == "__main__":
    main()
