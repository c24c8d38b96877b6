"""Runs a program at a real pseudo-terminal, and returns the visible output."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.master.command import environment

_COMMAND = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[=>])")


@dataclass(frozen=True, slots=True)
class Seen:
    """The output of a program on its terminal."""

    code: int
    text: str
    """All of it, the terminal's commands left out."""
    raw: str

    @property
    def redrawn(self) -> bool:
        """Whether anything was redrawn: the cursor went up, or a line was cleared."""
        return re.search(r"\x1b\[[0-9]*[AK]", self.raw) is not None


class Terminal:
    """A program whose three standard streams, and controlling terminal, are a separate terminal.

    Args:
        reads: whether the program's output is read; else the terminal stands still, as after Ctrl-S.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        *,
        columns: int = 100,
        rows: int = 30,
        reads: bool = True,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in environment(folder, env).items() if name not in ("NO_COLOR", "COLUMNS")}

        def prepare() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            # A test runner in the background may ignore them, which its children would inherit.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        self.process = subprocess.Popen(
            words, cwd=folder, env={**kept, "TERM": "xterm-256color"}, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=prepare,
        )  # fmt: skip
        os.close(theirs)
        self._pieces: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._closed = threading.Event()
        if reads:
            self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def raw(self) -> str:
        return b"".join(self._pieces).decode(errors="replace")

    @property
    def text(self) -> str:
        return _COMMAND.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, text: str, timeout_s: float = 200) -> None:
        """Wait until the program has written ``text``."""
        deadline = time.monotonic() + timeout_s
        while text not in self.text:
            assert time.monotonic() < deadline and self.process.poll() is None, f"no {text!r}:\n{self.text}"
            time.sleep(0.05)

    def type(self, text: str) -> None:
        """Type at it: ``\x03`` is Ctrl-C."""
        os.write(self._ours, text.encode())

    def hang_up(self) -> None:
        """Close it, like a closed window or a dropped ssh: the kernel sends SIGHUP. A second call does no harm."""
        if not self._closed.is_set():
            self._closed.set()
            if self._reader.is_alive():
                self._reader.join()
            os.close(self._ours)

    def seen(self, timeout_s: float = 240) -> Seen:
        """Wait for the program's end."""
        code = self.process.wait(timeout_s)
        if self._reader.is_alive():
            self._reader.join(10)
        return Seen(code, self.text, self.raw)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # Linux' way to say that the other end is closed
            while not self._closed.is_set():
                if select.select([self._ours], [], [], 0.1)[0]:
                    if not (piece := os.read(self._ours, 1 << 16)):
                        return
                    self._pieces.append(piece)


def at_terminal(
    words: Sequence[str],
    folder: Path,
    env: Mapping[str, str] | None = None,
    *,
    columns: int = 100,
    rows: int = 30,
    timeout_s: float = 240,
    reads: bool = True,
) -> Seen:
    """Run a program at a `Terminal` to its end."""
    with Terminal(words, folder, env, columns=columns, rows=rows, reads=reads) as terminal:
        return terminal.seen(timeout_s)
