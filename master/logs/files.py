"""The files of a log: the one that is being written, and the parts that were set aside when it grew too large.

::

    gougi-20261121-101500-4711.0001.jsonl.gz      set aside, compressed
    gougi-20261121-101500-4711.0002.jsonl.gz
    gougi-20261121-101500-4711.jsonl              being written, or the end of a finished run

A log is read (`read_lines`) by the name of its last file or of any part. The result is the same however often the log
was rotated, before or during the read.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import json
import logging
import os
import re
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import BaseRotatingHandler
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"(?P<run>.+?)(?:\.(?P<number>\d{4,}))?\.jsonl(?P<packed>\.gz)?")
_OURS: Final = re.compile(r"gougi-[0-9]{8}-[0-9]{6}-[0-9]+(\.[0-9]{4,})?\.jsonl(\.gz)?")
"""Names of files that may be deleted. Files with any other name belong to a user, who keeps a log or notes there."""
_HALF_PACKED: Final = re.compile(r"\.gougi-[0-9]{8}-[0-9]{6}-[0-9]+\.[0-9]{4,}\.jsonl\.gz")
_IN_USE_S: Final = 24 * 3600.0
"""A file that was written within this time may belong to a running process: it is kept."""
_FAST: Final = 3
"""The gzip level: a tenth of the size for 10 ms per MB."""
_LAST: Final = sys.maxsize
"""The number of the file that is being written, or was written last."""
LINES_LOST: Final = "log_lines_lost"
"""The event of the line that replaces lines which the disk did not take."""
_MARK: Final = f'"event": "{LINES_LOST}"'.encode()
_BOM: Final = b"\xef\xbb\xbf"


class NotTextError(ValueError):
    """A log is not UTF-8; the text names the file and the byte."""


def is_log(name: str) -> bool:
    """Whether a file is a log or a part of one, by its name."""
    return _NAME.fullmatch(name) is not None


def newest_log(folder: Path) -> Path | None:
    """The most recently started log of a folder, as the name of its current file; None: there is none."""
    try:
        found = [file for file in folder.iterdir() if _OURS.fullmatch(file.name)]
    except OSError:
        return None
    if not found:
        return None
    return folder / f"{run_of(max(found, key=_order))}.jsonl"


def run_of(path: Path) -> str:
    """The name that all files of one log share; empty if the name is not that of a log."""
    return _order(path)[0]


@dataclass(slots=True)
class Place:
    """The position up to which a log has been read.

    Attributes:
        part: number of the last part that was read, or is missing; 0: none.
        lines: number of lines read from the next part, while it was the file being written.
    """

    part: int = 0
    lines: int = 0


def read_lines(path: Path, gap: Callable[[str], None], place: Place | None = None) -> Iterator[tuple[Path, int, str]]:
    """The lines of a log in the order in which they were written: file, number in the file from 1, text.

    The log may be written and rotated meanwhile. An incomplete last line is left out.

    Args:
        path: any of its files, whether it exists or not: the parts that were set aside count.
        gap: callback, called in sequence with the file and the reason when lines are missing between the lines before
            and after the call. If the disk did not take them, a line `LINES_LOST` follows.
        place: the first line to read, for a caller that returns when the log has grown. It moves past each line that is
            yielded. None: the beginning.

    Raises:
        OSError: a file cannot be read, or there is none.
        NotTextError: it is not UTF-8.
    """
    at = Place() if place is None else place
    while (opened := _open_next(path, at.part)) is not None:
        number, file, lines = opened
        if number not in (at.part + 1, _LAST):
            if at.part or at.lines:
                gap(f"{file}: the parts before it are missing")
            at.part, at.lines = number - 1, 0  # a caller that resumes in the middle misses nothing
        count, size, whole, damaged = 0, 0, False, False
        with lines:
            try:
                for line in lines:
                    whole = line.endswith(b"\n")
                    count += whole
                    if whole and count > at.lines:
                        if _MARK in line and (lost := _lost(line)):
                            gap(f"{file}: {lost} lines are missing before line {count}: the disk did not take them")
                        try:
                            text = (line.removeprefix(_BOM) if count == 1 else line).decode()
                        except UnicodeDecodeError as error:
                            text = f"{file}: not a text file: byte {size + error.start} is not UTF-8"
                            raise NotTextError(text) from error
                        at.lines = count
                        yield file, count, text
                    size += len(line)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                damaged = True
        if damaged or (number < _LAST and not whole):
            gap(f"{file}: damaged or cut short after line {count}")
        if number < _LAST:
            at.part, at.lines = number, 0
        elif (following := _next(path, at.part)) is None or following[0] == _LAST:
            return
        # The file has been set aside, perhaps with more lines than before.


def _lost(line: bytes) -> int:
    """The number of lost lines that this line stands for; 0: it is an ordinary line."""
    try:
        fields = json.loads(line)
        return int(fields["lines"]) if fields["event"] == LINES_LOST else 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


def _open_next(path: Path, done: int) -> tuple[int, Path, io.BufferedIOBase] | None:
    """Open the file that `_next` names. At any moment the current file may be set aside, and a part compressed."""
    while (part := _next(path, done)) is not None:
        number, file = part
        try:
            lines: io.BufferedIOBase = gzip.GzipFile(file) if file.suffix == ".gz" else file.open("rb")
        except FileNotFoundError:
            if _next(path, done) == part:
                raise
            continue
        if _next(path, done) == part:
            return number, file, lines
        lines.close()
    return None


def _next(path: Path, done: int) -> tuple[int, Path] | None:
    """The first part after part ``done``, or the current file, by number and name; None: neither exists.

    If a crash left a part both compressed and not, the compressed one is complete on disk.
    """
    name = _NAME.fullmatch(path.name)
    found: list[tuple[int, Path]] = []
    if name is not None:
        for file in path.parent.glob(f"{glob.escape(name['run'])}*.jsonl*"):
            run, number = _order(file)
            if run == name["run"] and number > done:
                found.append((number, file))
    return min(found, key=lambda part: (part[0], part[1].suffix != ".gz"), default=None if done else (_LAST, path))


def _order(file: Path) -> tuple[str, int]:
    """Sorts the files of all runs by age: by the run's name, which begins with its time, then by the part's number."""
    name = _NAME.fullmatch(file.name)
    if name is None:
        return "", _LAST
    return name["run"], int(name["number"]) if name["number"] else _LAST


class LogFile(BaseRotatingHandler):
    """Writes a log's lines, and sets its file aside when it has grown to ``part_bytes``.

    A full disk, or any other write error, costs lines of the log and nothing more. It is reported once. When the disk
    takes lines again, the first one is `LINES_LOST` with the number of lines missing there, which is reported too. A
    new line never follows an incomplete one.

    Args:
        path: ``gougi-DATE-TIME-PID.jsonl``.
        part_bytes: 0: never.
        keep: the number of log files of all runs that may be in the folder; the oldest are deleted. 0: all are kept.
        tell: callback for problems, ``tell(event, fields)``.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path, part_bytes: int, keep: int, tell: Callable[[str, dict[str, object]], None]) -> None:
        super().__init__(path, "a", encoding="utf-8")
        self._path = path
        self._part_bytes = part_bytes
        self._keep = keep
        self._tell = tell
        self._number = 0
        self._size = path.stat().st_size
        """Size of the file, to the end of its last whole line."""
        self._lost = 0
        self._next_try = part_bytes
        """Size at which to set the file aside. If that fails, the limit grows by half a part."""
        self._delete_old()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, and count it once it is on its way to the disk."""
        try:
            if self._lost:
                self._cut_half_line()
            super().emit(record)
            if self.stream is None:  # handleError has closed it
                return
            self._size = os.fstat(self.stream.fileno()).st_size
        except Exception:
            self.handleError(record)
            return
        lost, self._lost = self._lost, 0
        if lost:
            self._tell(LINES_LOST, {"lines": lost})

    def format(self, record: logging.LogRecord) -> str:
        """The line, after the one that says how many are missing before it: both reach the disk, or neither."""
        line = super().format(record)
        if not self._lost:
            return line
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        mark = {"lines": self._lost, "event": LINES_LOST, "logger": "log", "level": "error", "timestamp": now}
        return f"{json.dumps(mark)}\n{line}"

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A line could not be written: start again after the last complete line."""
        error = sys.exc_info()[1]
        self._close_stream()
        with contextlib.suppress(OSError):  # otherwise it is tried again before the next line
            self._cut_half_line()
        self._lost += 1
        if self._lost == 1:
            self._tell("log_not_written", {"file": str(self._path), "error": str(error)})

    def _cut_half_line(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size > self._size:
                os.truncate(self._path, self._size)

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - logging's name
        """Whether the file is as large as a part."""
        return bool(self._part_bytes) and self._size >= self._next_try

    def doRollover(self) -> None:  # noqa: N802 - logging's name
        """Set the file aside. If that fails, keep writing to it."""
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
            with part.open("rb") as source, temporary.open("wb") as target:
                with gzip.GzipFile("", "wb", _FAST, target) as packed:
                    shutil.copyfileobj(source, packed)
                target.flush()
                os.fsync(target.fileno())  # or a crash of the machine could leave neither
            temporary.rename(part.with_name(f"{part.name}.gz"))
            part.unlink()
        except OSError as error:
            self._tell("log_not_packed", {"file": str(part), "error": str(error)})
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)

    def _delete_old(self) -> None:
        """Delete the oldest log files of all runs, and the leftovers of a crash during compression."""
        try:
            files = sorted(self._path.parent.iterdir(), key=_order)
        except OSError:
            return
        ours = [file for file in files if _OURS.fullmatch(file.name)]
        surplus = ours[: -self._keep] if self._keep else []
        set_aside = {file for file in surplus if _order(file)[1] < _LAST}
        in_use = time.time() - _IN_USE_S
        for file in surplus + [file for file in files if _HALF_PACKED.fullmatch(file.name)]:
            with contextlib.suppress(OSError):
                if file in set_aside or file.stat().st_mtime < in_use:
                    file.unlink()

    def _close_stream(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
