"""Processes by the session that they belong to: all that one of ours has started, however it is related to it now.

A process that is started in a session of its own gives its number to the session, and all that it starts stays in there
(Ray's processes do). The number is given to no other process while anything of the session lives.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

_LONGEST_S: Final = 5.0
"""A process that SIGKILL has not ended by then is held by the kernel (a dead disk)."""


def in_session(session: int) -> set[int]:
    """The processes that live in a session, this one left out."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The command's name stands in brackets and may hold anything.
            state, _, _, its = stat.read_text(errors="replace").rpartition(")")[2].split()[:4]
            if int(its) == session and state not in "ZX":
                found.add(int(stat.parent.name))
    return found - {os.getpid()}


def end_session(session: int) -> None:
    """Kill every process of a session but this one, and what they start meanwhile. Those that are ours are reaped."""
    deadline = time.monotonic() + _LONGEST_S
    killed: set[int] = set()
    while (pids := in_session(session)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= pids
        time.sleep(0.01)
    for pid in killed - {session}:  # the leader has somebody who waits for it
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
