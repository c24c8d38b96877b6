"""``gougi usi --single``: one searcher for a GUI.

`gougi.__main__` runs it without the command line's own code, whose import takes as long as the answer to ``usi``.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

from master.commands.common import CommandError, interruptible
from worker import VERSION
from worker.usi.gui_reader import GuiReader, introduction
from worker.usi.options import OPTIONS


def single_engine() -> int:
    """Serve a GUI until it quits. Returns the exit code."""
    with gui_output() as write:
        gui = GuiReader(gui_lines(), write, introduction(f"Gougi {VERSION}", OPTIONS))

        def serve() -> int:
            gc.disable()  # until the engine is ready: loading makes many objects, nearly all of which stay
            from worker.usi.loop import UsiLoop

            loop = UsiLoop(write)
            code = loop.run(gui)
            if loop.error:
                raise CommandError(loop.error, code)
            return code

        return interruptible(serve)


@contextlib.contextmanager
def gui_output() -> Iterator[Callable[[str], None]]:
    """A function that writes a line to the GUI, from any thread. All other output, from here or from a child, goes to
    standard error."""
    sys.stdout.flush()
    lock = threading.Lock()
    gui = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", errors="replace")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def write(line: str) -> None:
        with lock:
            gui.write(line + "\n")
            gui.flush()

    try:
        yield write
    finally:
        gui.close()


def gui_lines() -> TextIO:
    """The GUI's lines. Undecodable bytes must not end the session."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdin
