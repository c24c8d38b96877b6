"""Text streams that never make a game wait, and lines whose failure never ends one.

A terminal that stops (Ctrl-S, a dead ssh) or a full pipe stops its writer. So what is written goes to a thread, which
passes it on in its order. Standard output and error share one outlet, so that their lines come as they were written.
"""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TextIO

import structlog

from master.ui.terminal import raw

_MOST_WAITING: Final = 1 << 20
"""Characters that may wait. What comes when there are more is dropped, whole writes at a time: a picture, a line."""


class Outlet:
    """The thread, and what waits for it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[OutletStream, str]] = deque()
        self._size = 0
        self._busy = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def stream(self, target: TextIO) -> OutletStream:
        """A stream that writes to ``target`` through this outlet."""
        return OutletStream(self, raw(target))

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
        """Wait until all is written, or for so long. Whether it is."""
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
    """A stream whose writes go through an outlet; in all else ``target``."""

    def __init__(self, outlet: Outlet, target: TextIO) -> None:
        self._outlet = outlet
        self._target = target
        self._trouble: OSError | None = None
        target.flush()
        binary = getattr(target, "buffer", None)
        self._raw: Any = getattr(binary, "raw", binary)
        """Takes bytes, past the buffer, whose lock would hold up whoever flushes it. None: the target takes text."""

    def write(self, text: str) -> int:
        """As `io.TextIOBase.write`, at once.

        Raises:
            OSError: what was written before it did not get there; told once.
        """
        self.raise_trouble()
        if text:
            self._outlet.put(self, text)
        return len(text)

    def flush(self) -> None:
        """Nothing: `Outlet.drain` waits."""

    def raise_trouble(self) -> None:
        """Raise the OSError that a write has met since the last one that was raised."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def pass_on(self, text: str) -> None:
        """Write to the target; its thread alone."""
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
    """Writes lines about something that must go on, even where writing fails; any thread.

    Args:
        write: gets each line; an OSError of it is logged once, and raised in the end by `settle`.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._trouble: OSError | None = None

    def __call__(self, line: str) -> None:
        self.attempt(lambda: self._write(line))

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step whose OSError is one of the lines'."""
        try:
            step()
        except OSError as error:
            if self._trouble is None:
                self._trouble = error
                structlog.get_logger("output").error("output_lost", error=str(error))

    def settle(self) -> None:
        """Raise the first OSError that there was."""
        if self._trouble is not None:
            raise self._trouble
