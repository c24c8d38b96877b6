"""Standard output and error: an error names the stream, and what others wrote (servers, opponents, engines, nodes) must
not command the terminal.

`guarded` has everything cleaned that is printed; `master.ui.console.Console` cleans what rich shows, whose own commands
to the terminal pass. The log's lines are cleaned too (`master.logs.log`): a character's escape is the one that JSON
has."""

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
    "\x80-\x9f"  # C1: other ways to say escape
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # which run text from right to left
    "\u2028\u2029"  # line breaks that are none for other programs
    "]"
)


def clean(text: str) -> str:
    """Show control characters as escapes (``\\u001b``), tabs and line breaks apart. JSON means the same afterwards."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class CleanStream:
    """A text stream that cleans what is written to it; else the stream itself.

    Args:
        stream: where the text goes. Named so for rich, which writes past this.
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
    """The stream behind those that clean or redirect, for our own commands to the terminal."""
    while (behind := getattr(stream, "rich_proxied_file", None)) is not None:
        stream = behind
    return stream


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Clean what is printed within."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, CleanStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


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
