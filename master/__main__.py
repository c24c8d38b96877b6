"""The ``gougi`` script and ``python -m master``. Ctrl-C while the command is being imported is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave the process with its exit code: 0, 1 failed, 2 bad input, 130 interrupted."""
    try:
        from master.cli import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
