"""The ``gougi`` script and ``python -m gougi``. Ctrl-C is no traceback either while the command is being imported."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and leave the process with its exit code (docs/reference/exit-codes.md has the table).

    Every command has cleaned up by then. The interpreter's own clean-up is left out: it would wait for threads that may
    be in compiled code, and turn a Ctrl-C that comes meanwhile into a traceback.
    """
    try:
        # Whoever starts us may have blocked it until somebody is here to take it (`gougi learn` does).
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        from master.cli import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
