"""Logs that a test writes and reads."""

from __future__ import annotations

import contextlib
import json
import logging
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from master.logs.files import LINES_LOST, LogFile, read_lines

NAME = "gougi-20261121-101500-4711"


class Written:
    """A log file, its reported problems, and a way to write to it."""

    def __init__(self, folder: Path, part_bytes: int = 0, keep: int = 0) -> None:
        self.path = folder / f"{NAME}.jsonl"
        self.told: list[tuple[str, dict[str, object]]] = []
        self.file = LogFile(self.path, part_bytes, keep, lambda event, fields: self.told.append((event, fields)))

    def lines(self, numbers: range) -> None:
        for number in numbers:
            text = json.dumps({"number": number, "text": "x" * 80})
            self.file.emit(logging.LogRecord("game", logging.INFO, "", 0, text, None, None))


def no_gap(where: str) -> None:
    pytest.fail(where)


def numbers(path: Path, gap: Callable[[str], None] = no_gap) -> list[int]:
    """The numbers of a log's lines; -N in place of N lines that it reports missing."""
    lines = [json.loads(line) for _, _, line in read_lines(path, gap)]
    return [-line["lines"] if line.get("event") == LINES_LOST else line["number"] for line in lines]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@contextlib.contextmanager
def full_behind(size: int) -> Iterator[None]:
    """The kernel writes no file beyond this size, and half a line if the limit is in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
