"""Text streams that never make a game wait, and lines whose failure never ends one.

A stopped terminal (Ctrl-S, a dead ssh) or a full pipe blocks its writer. So a thread writes the output, in order.
Standard output and error share one outlet, so that their lines keep their order.
"""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TextIO

import structlog

_MOST_WAITING: Final = 1 << 20
"""Maximum number of waiting characters. Further output is dropped, whole writes at a time: a picture, a line."""


class Outlet:
    """The thread, and its pending output."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[OutletStream, str]] = deque()
        self._size = 0
        self._busy = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def stream(self, target: TextIO) -> OutletStream:
        """A stream that writes to ``target`` through this outlet."""
        return OutletStream(self, target)

    def put(self, stream: OutletStream, text: str) -> None:
        """Take ``text`` for ``stream``; any thread."""
        with self._changed:
            if self._size + len(text) > _MOST_WAITING:
                return
            self._waiting.append((stream, text))
            self._size += len(text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="terminal", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """Wait until all is written, or for the given time. Returns whether all is written."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._busy), seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._waiting))
                stream, text = self._waiting.popleft()
                self._size -= len(text)
                self._busy = True
            stream.pass_on(text)


class OutletStream:
    """A stream whose writes go through an outlet; otherwise it is ``target``."""

    def __init__(self, outlet: Outlet, target: TextIO) -> None:
        self._outlet = outlet
        self._target = target
        self._trouble: OSError | None = None
        target.flush()
        binary = getattr(target, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        """Takes bytes, bypassing the buffer, whose lock would block a caller that flushes it. None: the target takes
        text."""

    def write(self, text: str) -> int:
        """As `io.TextIOBase.write`, without blocking. Raises OSError: an earlier write failed; raised once."""
        self.raise_trouble()
        if text:
            self._outlet.put(self, text)
        return len(text)

    def flush(self) -> None:
        """Does nothing: `Outlet.drain` waits."""

    def raise_trouble(self) -> None:
        """Raise the OSError of a write since the last one that was raised."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def pass_on(self, text: str) -> None:
        """Write to the target; only its thread calls this."""
        try:
            if self._raw is None:
                self._target.write(text)
                self._target.flush()
                return
            data = memoryview(text.encode(self._target.encoding, self._target.errors or "strict"))
            while data:
                written = self._raw.write(data)
                if written is None:  # the descriptor does not block
                    select.select([], [self._raw], [])
                else:
                    data = data[written:]
        except (OSError, ValueError) as error:  # a closed stream is a ValueError
            self._trouble = error if isinstance(error, OSError) else OSError(str(error))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class SteadyWriter:
    """Writes lines about work that must go on, even if writing fails; any thread. ``write``: gets each line; its
    OSError is logged once, and `settle` raises it at the end."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._trouble: OSError | None = None

    def __call__(self, line: str) -> None:
        self.attempt(lambda: self._write(line))

    def attempt(self, step: Callable[[], None]) -> None:
        """Run a step whose OSError is treated like that of a line."""
        try:
            step()
        except OSError as error:
            if self._trouble is None:
                self._trouble = error
                structlog.get_logger("output").error("output_lost", error=str(error))

    def settle(self) -> None:
        """Raise the first OSError, if there was one."""
        if self._trouble is not None:
            raise self._trouble
