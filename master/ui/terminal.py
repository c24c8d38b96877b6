"""Standard output and error: an error names its stream, and text from others (servers, opponents, engines, nodes)
cannot send commands to the terminal.

`guarded` sanitizes everything that is printed; `master.ui.console.Console` sanitizes the content that rich shows, while
rich's own terminal commands pass. The log's lines are sanitized too (`master.logs.log`). Characters are escaped as in
JSON."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, TextIO, cast

from worker.text import ERRORS, register

_UNSAFE: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # C0: escape, backspace, carriage return …; not tabs and line breaks
    "\x80-\x9f"  # C1: other forms of escape
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which run text from right to left
    "\u2028\u2029"  # line breaks that other programs do not treat as such
    "]"
)


def clean(text: str) -> str:
    """Show control characters as escapes (``\\u001b``), except tabs and line breaks. JSON keeps its meaning."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class CleanStream:
    """A text stream that sanitizes its input; in all other ways the underlying stream.

    Args:
        stream: the underlying stream. The name is the one that rich uses to write directly to it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(clean(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def raw(stream: TextIO) -> TextIO:
    """The stream below those that sanitize or redirect, for our own commands to the terminal."""
    while (behind := getattr(stream, "rich_proxied_file", None)) is not None:
        stream = behind
    return stream


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Sanitize everything printed within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, CleanStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class NamedStream(io.FileIO):
    """A standard stream whose errors name it.

    Args:
        number: the file descriptor; it stays open when the stream is closed, unless the stream ``owns`` it.
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
    """Make errors of standard output and error name the stream; a character that the terminal lacks becomes ASCII."""
    register()
    sys.stdout = _named(sys.stdout, "standard output")
    sys.stderr = _named(sys.stderr, "standard error")


def _named(stream: TextIO, words: str) -> TextIO:
    own = isinstance(stream, io.TextIOWrapper) and getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(stream, io.TextIOWrapper) or type(own) is not io.FileIO:
        return stream  # not the process's own stream: another program, or an earlier call, has replaced it
    stream.flush()
    raw = NamedStream(stream.fileno(), words)
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),
        stream.encoding,
        ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
