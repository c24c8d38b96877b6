"""The files of a log: one that is written, and the parts that were set aside when it had grown.

::

    gougi-20261121-101500-4711.0001.jsonl.gz      set aside, compressed
    gougi-20261121-101500-4711.0002.jsonl.gz
    gougi-20261121-101500-4711.jsonl              written now, or the end of a run that is over

A log is read by the name of its last file (`read_lines`), or of any other, and is the same however often it was cut.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from logging.handlers import BaseRotatingHandler
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"(?P<run>.+?)(?:\.(?P<number>\d{4,}))?\.jsonl(?P<packed>\.gz)?")
_OURS: Final = "gougi-*.jsonl*"
_IN_USE_S: Final = 24 * 3600.0
"""A file that was written within this time may be another process's: it is kept."""
_FAST: Final = 3
"""Of gzip's levels: a tenth of the size for 10 ms a MB."""
_LAST: Final = sys.maxsize
"""The number of the file that is written, or was the last one to be."""


def is_log(name: str) -> bool:
    """Whether a file is a log or a part of one, by its name."""
    return _NAME.fullmatch(name) is not None


def read_lines(path: Path) -> Iterator[tuple[Path, int, str]]:
    """The lines of a log in the order in which they were written: file, number in the file from 1, text.

    Args:
        path: any of its files, there or not: the parts that were set aside count.

    Raises:
        OSError: a file cannot be read, or there is none.
        UnicodeDecodeError: it is no text.
    """
    for file in _files_of(path):
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield file, number, line


def _files_of(path: Path) -> list[Path]:
    name = _NAME.fullmatch(path.name)
    if name is None:
        return [path]
    found: dict[int, Path] = {}
    for file in sorted(path.parent.glob(f"{glob.escape(name['run'])}*.jsonl*")):
        run, number = _order(file)
        if run == name["run"]:
            found[number] = file  # a packed part sorts behind the same one unpacked, which a crash may leave
    return [found[number] for number in sorted(found)] or [path]


def _order(file: Path) -> tuple[str, int]:
    """Sorts the files of all runs by age: by the run's name, which begins with its time, and by the part's number."""
    name = _NAME.fullmatch(file.name)
    if name is None:
        return "", _LAST
    return name["run"], int(name["number"]) if name["number"] else _LAST


class LogFile(BaseRotatingHandler):
    """Writes a log's lines, and sets its file aside where that has grown to ``part_bytes``.

    A disk that is full, or refuses anything else, costs lines of the log and nothing more: it is told once, and said
    how many lines are missing when it takes them again. A file never ends in half a line because of it.

    Args:
        path: ``gougi-DATE-TIME-PID.jsonl``.
        part_bytes: 0: never.
        keep: so many log files of all runs may be in the folder; the oldest are deleted. 0: all are kept.
        tell: hears of troubles, as ``tell(event, fields)``.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path, part_bytes: int, keep: int, tell: Callable[[str, dict[str, object]], None]) -> None:
        super().__init__(path, "a", encoding="utf-8")
        self._path = path
        self._part_bytes = part_bytes
        self._keep = keep
        self._tell = tell
        self._number = 0
        self._size = path.stat().st_size
        """Of the file, to the end of its last whole line."""
        self._lost = 0
        self._next_try = part_bytes
        """Size at which to set it aside: a file that could not be is left to grow by half as much again."""
        self._delete_old()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, and count it once it is on its way to the disk."""
        lost = self._lost
        super().emit(record)
        if self._lost == lost and self.stream is not None:
            self._size = os.fstat(self.stream.fileno()).st_size
            if lost:
                self._lost = 0
                self._tell("log_lines_lost", {"lines": lost})

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A line could not be written: begin anew behind the last whole one."""
        error = sys.exc_info()[1]
        self._close_stream()
        with contextlib.suppress(OSError):
            os.truncate(self._path, self._size)
        self._lost += 1
        if self._lost == 1:
            self._tell("log_not_written", {"file": str(self._path), "error": str(error)})

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - logging's name
        """Whether the file is as large as a part."""
        return bool(self._part_bytes) and self._size >= self._next_try

    def doRollover(self) -> None:  # noqa: N802 - logging's name
        """Set the file aside. Where that fails, it is written on."""
        self._close_stream()
        number = self._number + 1
        part = self._path.with_name(f"{self._path.stem}.{number:04d}.jsonl")
        try:
            self._path.rename(part)
        except OSError as error:
            self._next_try = self._size + self._part_bytes // 2
            self._tell("log_not_set_aside", {"file": str(self._path), "error": str(error)})
        else:
            self._number, self._size, self._next_try = number, 0, self._part_bytes
            self._pack(part)
        self.stream = self._open()
        self._delete_old()

    def _pack(self, part: Path) -> None:
        temporary = part.with_name(f".{part.name}.gz")
        try:
            with part.open("rb") as source, gzip.open(temporary, "wb", compresslevel=_FAST) as target:
                shutil.copyfileobj(source, target, 1 << 16)
            temporary.rename(part.with_name(f"{part.name}.gz"))
            part.unlink()
        except OSError as error:
            self._tell("log_not_packed", {"file": str(part), "error": str(error)})
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _delete_old(self) -> None:
        if not self._keep:
            return
        files = sorted(self._path.parent.glob(_OURS), key=_order)
        in_use = time.time() - _IN_USE_S
        for file in files[: -self._keep]:
            with contextlib.suppress(OSError):
                if _order(file)[1] < _LAST or file.stat().st_mtime < in_use:
                    file.unlink()

    def _close_stream(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
