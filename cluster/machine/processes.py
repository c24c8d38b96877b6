"""Processes as the kernel knows them, and the processes of a session, which can be ended together.

A process that starts its own session gives the session its number, and its children stay in the session (Ray's
processes do). The kernel does not reuse the number while any process of the session lives.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_LONGEST_S: Final = 5.0
"""A process that SIGKILL has not ended by then is blocked in the kernel (a dead disk)."""


class ProcessStat(NamedTuple):
    """A process, or a thread, as the kernel describes it (``man 5 proc``)."""

    pid: int
    name: str
    state: str
    """A letter; ``Z``: it is dead, but its parent has not reaped it."""
    parent: int
    session: int
    cpu_s: float
    """Processor time so far."""
    started: int
    """Start of the process, in clock ticks since the boot."""

    @property
    def lives(self) -> bool:
        return self.state not in "ZX"

    @classmethod
    def read(cls, file: Path) -> ProcessStat:
        """Read a ``stat`` file. Raises OSError: the process is gone."""
        # The name stands in brackets and may contain any character.
        head, _, tail = file.read_text(encoding="utf-8", errors="replace").rpartition(")")
        pid, _, name = head.partition(" (")
        fields = tail.split()
        cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS
        return cls(int(pid), name, fields[0], int(fields[1]), int(fields[3]), cpu_s, int(fields[19]))


def stat_of(pid: int) -> ProcessStat | None:
    """A process; None: there is none with that number."""
    try:
        return ProcessStat.read(Path(f"/proc/{pid}/stat"))
    except OSError:
        return None


def started(pid: int) -> int:
    """The start of a process, in clock ticks since the boot; 0: there is no process with that number."""
    stat = stat_of(pid)
    return 0 if stat is None else stat.started


def all_processes() -> Iterator[ProcessStat]:
    """The processes of this machine, as far as this one sees them, including zombies."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            yield ProcessStat.read(file)


def descendants(pid: int) -> Iterator[ProcessStat]:
    """The processes that descend from one, each after its parent."""
    children = defaultdict[int, list[ProcessStat]](list)
    for process in all_processes():
        children[process.parent].append(process)
    left = children[pid]
    while left:
        process = left.pop()
        left += children[process.pid]
        yield process


def command_of(pid: int) -> str:
    """The command line of a process, with blanks between its words; empty: it is gone, or is a kernel thread."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def child_environment(**more: str) -> dict[str, str]:
    """The environment for a child that runs one of our modules: it finds the same modules as this process.

    Args:
        more: additional variables.
    """
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **more}


def in_session(session: int) -> set[int]:
    """The live processes of a session, without this one."""
    return {one.pid for one in all_processes() if one.session == session and one.lives} - {os.getpid()}


def end_session(session: int) -> None:
    """Kill every process of a session but this one, and those that they start meanwhile. Our own children are
    reaped."""
    deadline = time.monotonic() + _LONGEST_S
    killed: set[int] = set()
    while (pids := in_session(session)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= pids
        time.sleep(0.01)
    for pid in killed - {session}:  # another process waits for the leader
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
