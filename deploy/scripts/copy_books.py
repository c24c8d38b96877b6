"""Copy books so that each is whole: copy_books.py FROM TO. Old books in TO go after all copies are made.

The book that learns is an SQLite file with a write-ahead log: only both together are the book, and a log that meets
another state of its file does harm. SQLite itself makes one file of them; all else is linked. Each copy has its book's
time, so that one which has not changed is not uploaded again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

BESIDE = ("-wal", "-shm", ".lock")
"""Suffixes of the files that SQLite and the book's writer keep beside a book."""


def copy(source: Path, target: Path) -> None:
    """One file.

    Raises:
        OSError: a file cannot be read or written.
        sqlite3.Error: the book is damaged.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\0"
    if not is_sqlite:
        os.link(source, target)
        return
    with closing(sqlite3.connect(source, timeout=5.0)) as book, closing(sqlite3.connect(target)) as whole:
        book.backup(whole)
        whole.execute("PRAGMA journal_mode = DELETE")  # the backup has the book's mode: nothing beside this one
    shutil.copystat(source, target)
    # A book that is in use changes its log alone, often for long.
    files = (source, source.with_name(f"{source.name}-wal"))
    newest = max(path.stat().st_mtime_ns for path in files if path.exists())
    os.utime(target, ns=(newest, newest))


def main(books: Path, copies: Path) -> int:
    """Copy all; 1 if one could not be copied, which is named and left out."""
    made = copies.with_name(f"{copies.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    failed = 0
    for source in sorted(path for path in books.rglob("*") if path.is_file() and not path.name.endswith(BESIDE)):
        target = made / source.relative_to(books)
        try:
            copy(source, target)
        except (OSError, sqlite3.Error) as error:
            print(f"copy_books.py: {source}: {error}", file=sys.stderr)
            target.unlink(missing_ok=True)
            failed = 1
    shutil.rmtree(copies, ignore_errors=True)
    made.rename(copies)
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
