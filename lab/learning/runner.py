"""Runs one of our own commands as a child process: its JSON, its end, and nothing of it left behind."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_OURS: Final = (sys.executable, "-P", "-m", "master")
"""Without -P the sources in the current folder would run, not those that are installed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command's end.

    Attributes:
        code: exit code; negative: the signal that killed it.
        result: the JSON of its last line; None: there is none.
        spent_s: wall time.
        interrupted: whether a KeyboardInterrupt came; the command may have come to its end all the same.
    """

    code: int
    result: Mapping[str, Any] | None
    spent_s: float
    interrupted: bool = False


def run_command(words: Sequence[str], limit_s: float) -> Ended:
    """Run ``gougi WORDS``, and stop it by SIGINT after ``limit_s`` or at a KeyboardInterrupt; its stderr is ours.

    The child has a process group of its own, so that Ctrl-C reaches it once, from here; and it is stopped in the same
    way where this process is killed.
    """
    began = time.monotonic()
    interrupted = False
    with _noted_signals() as noted:
        child = subprocess.Popen(
            [*_OURS, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            process_group=0,
            preexec_fn=_follow(os.getpid()),
        )
    with child:
        try:
            if noted:
                raise KeyboardInterrupt
            output = _read(child, limit_s)
        except KeyboardInterrupt:
            interrupted = True
            child.send_signal(signal.SIGINT)
            output = child.communicate()[0]
    return Ended(child.returncode, _last_json(output), time.monotonic() - began, interrupted)


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM instead of raising KeyboardInterrupt, which Python drops in the hooks of a fork."""
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: noted.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read(child: subprocess.Popen[bytes], limit_s: float) -> bytes:
    try:
        return child.communicate(timeout=None if limit_s == float("inf") else max(limit_s, 0.0))[0]
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        return child.communicate()[0]


def _follow(parent: int) -> Any:
    """Prepare the child before it begins: it asks for SIGINT at its parent's end, and takes Ctrl-C as usual.

    But not while its interpreter starts, where that would be a traceback: `master.__main__` lets the signal through.
    """
    libc = ctypes.CDLL(None)

    def follow() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGINT)

    return follow


def _last_json(output: bytes) -> Mapping[str, Any] | None:
    lines = output.decode(errors="replace").strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
