"""Opening a book of any format, and several books in order of priority."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from worker.book.binary import YBB_MAGIC, AperyBook, YbbBook
from worker.book.file import Book
from worker.book.format import BookError, BookMove
from worker.files import reason

_ENDINGS: Final = (".db", ".ybb")


class Lookup(Protocol):
    """Anything that can look up candidates, such as `worker.book.file.Book`."""

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """The candidates of a position, the most played first; see `worker.book.file.Book.find`."""


def open_file(path: Path, on_the_fly: bool = False) -> Lookup:
    """A book file: YaneuraOu's text or binary format, or a ``.bin`` of Apery.

    Raises:
        BookError: it cannot be read, or has another format.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(YBB_MAGIC))
    except OSError as error:
        raise BookError(f"book {path}: {reason(error)}") from error
    if head == YBB_MAGIC:
        return YbbBook(path, on_the_fly)
    if path.suffix == ".ybb":
        raise BookError(f"book {path}: byte 0: no YaneuraOu binary book: it begins with {head!r}")
    return AperyBook(path) if path.suffix == ".bin" else Book(path, on_the_fly)


class SeveralBooks:
    """Several books; the first one that has a position is used."""

    def __init__(self, books: Sequence[Lookup]) -> None:
        self._books = tuple(books)

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """See `Lookup`."""
        return next((found for book in self._books if (found := book.find(sfen, any_ply))), [])


def open_with_priority(path: Path, on_the_fly: bool = False) -> Lookup:
    """A book and those with priority over it: ``user_book1-000.db``, ``user_book1-001.ybb``, … next to
    ``user_book1.db``, as in YaneuraOu. If a ``.db`` is missing, its ``.ybb`` is used.

    Raises:
        BookError: one of them cannot be read.
    """
    if path.suffix not in _ENDINGS:
        return open_file(path, on_the_fly)
    # Path.exists raises OSError if a name is too long or its folder may not be entered; os.path.exists is then False.
    endings = (path.suffix, *(ending for ending in _ENDINGS if ending != path.suffix))
    books = []
    for number in count():
        names = (path.with_name(f"{path.stem}-{number:03}{ending}") for ending in endings)
        found = next((name for name in names if os.path.exists(name)), None)
        if found is None:
            break
        books.append(open_file(found, on_the_fly))
    if path.suffix == ".db" and not os.path.exists(path) and os.path.exists(path.with_suffix(".ybb")):
        path = path.with_suffix(".ybb")
    books.append(open_file(path, on_the_fly))
    return books[0] if len(books) == 1 else SeveralBooks(books)
