"""Standard output and error as the commands write to them: a fault of one names it."""

from __future__ import annotations

import io
import sys
from typing import Any, TextIO

from worker.text import ERRORS, register


class NamedStream(io.FileIO):
    """A standard stream whose errors say which one it is.

    Args:
        number: the file's; it stays open when the stream is closed, unless the stream ``owns`` it.
    """

    def __init__(self, number: int, words: str, *, owns: bool = False) -> None:
        super().__init__(number, "wb", closefd=owns)
        self._words = words

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._words) from error


def name_streams() -> None:
    """Let errors of standard output and error name them; a sign that a terminal does not have becomes ASCII."""
    register()
    sys.stdout = _named(sys.stdout, "standard output")
    sys.stderr = _named(sys.stderr, "standard error")


def _named(stream: TextIO, words: str) -> TextIO:
    own = isinstance(stream, io.TextIOWrapper) and getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(stream, io.TextIOWrapper) or type(own) is not io.FileIO:
        return stream  # not the process's own: another program has taken it over, or we did before
    stream.flush()
    raw = NamedStream(stream.fileno(), words)
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),
        stream.encoding,
        ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
