"""The kinds of files: a command that is given one of another kind names the commands that take it."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Final

from master.commands.common import CommandError

_HEAD: Final = 4096
"""Bytes from which a kind is told."""
_BOM: Final = b"\xef\xbb\xbf"


class Kind(Enum):
    """The kind of a file, in words, and the commands that take it."""

    RECORD = ("a game record", "gougi analyze, gougi watch, gougi book import")
    LOG = ("the log of a player", "gougi watch, gougi replay, gougi log")
    BOOK = ("an opening book", "gougi book stats, gougi book import, [book] files")
    LEARNED = ("a book that learns", "gougi book stats, gougi book export, [book] learn")
    NET = ("a network", "gougi net info, --net")
    POSITIONS = ("a list of positions", "gougi match --openings")
    CONFIG = ("a configuration", "--config")
    PAGE = ("a web page", "your browser")

    def __init__(self, words: str, takers: str) -> None:
        self.words = words
        self.takers = takers


_SUFFIXES: Final = {
    **dict.fromkeys((".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf"), Kind.RECORD),
    **dict.fromkeys((".html", ".htm"), Kind.PAGE),
    ".jsonl": Kind.LOG,
    ".sfen": Kind.POSITIONS,
    ".toml": Kind.CONFIG,
}
_BEGINNINGS: Final = (
    (b"#YANEURAOU-DB", Kind.BOOK),
    (b"SQLite format 3\0", Kind.LEARNED),
    ((0x7AF32F16).to_bytes(4, "little"), Kind.NET),
    (b"sfen ", Kind.POSITIONS),
    (b"startpos", Kind.POSITIONS),
    (b"V2", Kind.RECORD),
    (b"V3", Kind.RECORD),
    (b"#KIF", Kind.RECORD),
    (b"<!doctype html", Kind.PAGE),
    (b"<!DOCTYPE html", Kind.PAGE),
)


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by its first bytes, else by its name; None: neither tells it, or it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).removeprefix(_BOM)
    except OSError:
        return None
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            # A book without its first line begins as a list of positions does.
            return Kind.BOOK if kind is Kind.POSITIONS and path.suffix.lower() == ".db" else kind
    return Kind.LOG if _is_log(head) else _SUFFIXES.get(path.suffix.lower())


def check_kind(path: Path, *wanted: Kind, where: str = "") -> None:
    """End the command where a file is plainly of another kind than those wanted.

    Args:
        where: the option that is at fault.
    """
    kind = kind_of(path)
    if kind is not None and kind not in wanted:
        raise CommandError(f"{where}{': ' if where else ''}{path}: this is {kind.words}, for {kind.takers}")


def only(*wanted: Kind) -> Callable[[Any], Any]:
    """A callback of an option or argument that is a file, or a list of them."""

    def check(value: Any) -> Any:
        for path in value if isinstance(value, list) else [value] if value is not None else []:
            check_kind(path, *wanted)
        return value

    return check


def _is_log(head: bytes) -> bool:
    line = head.partition(b"\n")[0]
    if not line.startswith(b"{"):
        return False
    try:
        return "event" in json.loads(line)
    except (ValueError, RecursionError):
        return b'"event":' in line
