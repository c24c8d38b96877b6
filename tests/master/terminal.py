"""Runs a program at a real pseudo-terminal, and says what a person saw there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
        """Whether something was drawn over: the cursor went up, or a line was cleared."""
        return re.search(r"\x1b\[[0-9]*[AK]", self.raw) is not None


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
    """Run the program with a terminal as its three standard streams, to its end.

    Args:
        reads: whether somebody reads what the program writes; else the terminal stands still, as after Ctrl-S.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    kept = {name: value for name, value in environment(folder, env).items() if name not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        words, cwd=folder, env={**kept, "TERM": "xterm-256color"}, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    pieces: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)
        except OSError:  # Linux' way to say that the other end is closed
            pass

    reader = threading.Thread(target=read, daemon=True)
    if reads:
        reader.start()
    try:
        code = process.wait(timeout_s)
        if reads:
            reader.join(10)
    finally:
        process.kill()
        os.close(ours)
    raw = b"".join(pieces).decode(errors="replace")
    return Seen(code, _COMMAND.sub("", raw).replace("\r\n", "\n"), raw)
