"""A command's lifetime: an event loop that SIGINT, SIGTERM and SIGHUP end cleanly, without leftover processes.

The first signal cancels the running work, which cleans up. A second one ends everything at once. SIGHUP means that the
terminal was closed: under nohup it is ignored, and a block in `Hangup` continues. The kernel makes us the parent of
orphans of our children (``PR_SET_CHILD_SUBREAPER``), so they are found and ended too. Those that exit
earlier are reaped as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, Final, Self, TypeVar

from cluster.machine import processes

T = TypeVar("T")

SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""Those of them that the system has: Windows has no SIGHUP, and sends SIGBREAK when the console is closed."""
GRACE_S: Final = 2.0
"""Seconds that a leftover process has to react to SIGTERM."""
REAP_S: Final = 0.5
"""A dead child that still exists after this time is one for which nobody waits."""
_PR_SET_CHILD_SUBREAPER: Final = 36
_LEAVE_SCREEN: Final = "\x1b[?1049l\x1b[?25h"
"""Restores the terminal: the normal screen, the cursor shown."""


class Interrupted(Exception):
    """One of `SIGNALS` came, and cleanup is complete."""


class Hangup:
    """A block that continues when its terminal is closed, as under nohup: later output there is discarded.

    ::

        with Hangup() as hangup:
            run_to_end(main)  # which calls hangup.hear(loop, tell)
    """

    def __init__(self) -> None:
        self.came = False
        self._hear: Callable[[], object] = lambda: None

    def __enter__(self) -> Self:
        self._terminals = [number for number in range(3) if os.isatty(number)]  # impossible after the hang-up
        self._before = signal.getsignal(signal.SIGHUP)
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        # After the first one there is no terminal left from which another could come.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if self.came else self._before)

    def hear(self, loop: asyncio.AbstractEventLoop, hear: Callable[[], object]) -> None:
        """Have ``hear`` called on ``loop`` when the terminal is closed, soon if it is closed already."""

        def soon() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and its observers with it
                loop.call_soon_threadsafe(hear)

        self._hear = soon
        if self.came:
            soon()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.came:
            return
        self.came = True
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in self._terminals:
            os.dup2(nowhere, number)
        os.close(nowhere)
        self._hear()


class _Interruption:
    """Signal handlers for the whole of `run_to_end`, so that a KeyboardInterrupt cannot occur at any moment."""

    def __init__(self) -> None:
        self.came = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}
        if hasattr(signal, "SIGHUP") and before[signal.SIGHUP] is not signal.SIG_DFL:  # nohup, or a `Hangup`
            del before[signal.SIGHUP]
        for number in before:
            signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                # After the first signal the command is about to exit: another one must not disturb it.
                signal.signal(number, signal.SIG_IGN if self.came else handler)

    async def run(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self.came:
            raise asyncio.CancelledError
        reaper = asyncio.ensure_future(_reap_the_adopted() if sys.platform == "linux" else asyncio.sleep(0))
        try:
            return await main()
        finally:
            self._loop = None
            reaper.cancel()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.came:
            end_descendants(grace_s=0)
            with contextlib.suppress(OSError):  # the terminal may be gone
                if sys.stdout.isatty():
                    terminal = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
                    terminal.write(_LEAVE_SCREEN)
                    terminal.flush()
            os._exit(130)
        self.came = True
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)


def run_to_end(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``main`` on a new event loop. On Linux no child process is left at the end, however ``main`` ended. Raises
    Interrupted: a signal came. ``main`` was cancelled and has cleaned up (or had already finished)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    interruption = _Interruption()
    with interruption.handled():
        try:
            with asyncio.Runner(loop_factory=_new_loop) as runner:
                result = runner.run(interruption.run(main))
        except asyncio.CancelledError:
            raise Interrupted from None
        finally:
            end_descendants()
        if interruption.came:
            raise Interrupted
        return result


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop, which Windows does not have."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def end_descendants(grace_s: float = GRACE_S) -> list[int]:
    """End every process that descends from this one, first by SIGTERM and after ``grace_s`` by SIGKILL.

    Returns:
        The ids of the processes found.
    """
    found: set[int] = set()
    deadline = time.monotonic() + grace_s
    while pids := descendants():
        number = signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL
        for pid in pids if number == signal.SIGKILL else pids - found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        found |= pids
        _reap()
        time.sleep(0.01)
    _reap()
    return sorted(found)


def descendants() -> set[int]:
    """The processes that descend from this one, except dead ones for which nobody waits."""
    return {process.pid for process in processes.descendants(os.getpid()) if process.state != "Z"}


async def _reap_the_adopted() -> None:
    """Nobody waits for processes that the kernel has handed to us. The loop waits for our own children, as soon as they
    end."""
    seen = 0
    while True:
        await asyncio.sleep(REAP_S)
        seen = _reap_if_still_there(seen)


def _reap_if_still_there(seen: int) -> int:
    """Reap the dead child ``seen``; returns the next dead one, 0 if there is none. Does not block."""
    with contextlib.suppress(ChildProcessError):
        while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if dead.si_pid != seen:
                return dead.si_pid
            os.waitpid(seen, os.WNOHANG)
    return 0


def _reap() -> None:
    if sys.platform != "linux":
        return  # nothing was handed to us
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
