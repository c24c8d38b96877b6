"""The tables of the learned book: one SQLite file, written by one process at a time.

A position is text as `master.book.searches.PositionKey` has it: black to move, without a ply. Moves are USI of that
position. Write-ahead logging: a crash loses at most what the last moments brought, and readers never wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

from worker.book import BookError
from worker.files import reason

VERSION: Final = 3
"""Version of the tables, in ``PRAGMA user_version``."""

_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE searches (
    position TEXT PRIMARY KEY, move TEXT NOT NULL, score INTEGER NOT NULL, depth INTEGER NOT NULL,
    seconds REAL NOT NULL, pv TEXT NOT NULL, studied INTEGER NOT NULL, ply INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE games (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, opponent TEXT NOT NULL, colour INTEGER NOT NULL,
    result TEXT NOT NULL, reason TEXT NOT NULL, ended TEXT NOT NULL
);
CREATE TABLE played (
    game INTEGER NOT NULL REFERENCES games, ply INTEGER NOT NULL, position TEXT NOT NULL, move TEXT NOT NULL,
    score INTEGER, seconds REAL NOT NULL, PRIMARY KEY (game, ply)
) WITHOUT ROWID;
CREATE TABLE lessons (
    id INTEGER PRIMARY KEY, position TEXT NOT NULL UNIQUE, start_sfen TEXT NOT NULL, moves TEXT NOT NULL,
    sfen TEXT NOT NULL, ply INTEGER NOT NULL, seconds REAL NOT NULL, importance INTEGER NOT NULL
);
CREATE TABLE imported (
    position TEXT NOT NULL, move TEXT NOT NULL, ponder TEXT, value INTEGER NOT NULL, depth INTEGER NOT NULL,
    count INTEGER NOT NULL, ply INTEGER NOT NULL, PRIMARY KEY (position, move)
) WITHOUT ROWID;
CREATE TABLE pieces (
    id INTEGER PRIMARY KEY, position TEXT NOT NULL, move TEXT NOT NULL, score INTEGER NOT NULL,
    depth INTEGER NOT NULL, seconds REAL NOT NULL, pv TEXT NOT NULL
);
CREATE TABLE running (
    id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, opponent TEXT NOT NULL, colour INTEGER NOT NULL,
    start_sfen TEXT NOT NULL, moves TEXT NOT NULL, own TEXT NOT NULL
);
"""
"""``pieces``: the searches of a lesson so far. ``running``: the game that is being played; ``own`` is JSON."""


def connect(path: Path, write: bool) -> tuple[sqlite3.Connection, IO[bytes] | None]:
    """Open the file, and make it where it is to be written and is not there.

    Returns:
        The connection, and for a writer the lock file that it holds; close both.

    Raises:
        BookError: no such file, no book of ours, of a newer version, damaged, or written by another process now.
    """
    lock = None
    with contextlib.ExitStack() as opened:
        try:
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                lock = opened.enter_context(_lock(path))
            elif not path.is_file():
                raise BookError(f"book {path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
            target = path.absolute().as_uri() + ("" if write else "?mode=ro")
            connection = sqlite3.connect(target, uri=True, timeout=5.0, isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            _prepare(connection, path, write)
        except (OSError, sqlite3.Error) as error:
            raise BookError(f"book {path}: {reason(error)}") from error
        opened.pop_all()
    return connection, lock


def _lock(path: Path) -> IO[bytes]:
    """Take the lock, for as long as the file is open; the kernel frees it whenever the process ends."""
    file = open(f"{path}.lock", "a+b")  # noqa: SIM115 - open for the book's life
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read(20).decode("ascii", "replace").strip()
        file.close()
        raise BookError(f"book {path}: process {holder or 'unknown'} writes it; one at a time can") from None
    file.truncate(0)
    file.write(str(os.getpid()).encode())
    file.flush()
    return file


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version not in (0, VERSION):
        other = "a newer one" if version > VERSION else "the one that wrote it, and export what it has"
        raise BookError(f"book {path}: version {version} of the tables; this Gougi knows {VERSION}: take {other}")
    if version == 0 and (count or not write):
        raise BookError(f"book {path}: an SQLite file, but no learned book of Gougi")
    if write:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


class Tables:
    """The open file, and how a statement is run on it: its errors are `BookError`. One thread at a time.

    Args:
        path: the file; made where it is to be written and is not there.
        write: whether to write. One process at a time can; any number can read meanwhile.

    Raises:
        BookError: it cannot be opened; the text says why.
    """

    def __init__(self, path: Path, write: bool = True) -> None:
        self.path = path
        self._connection, self._lock = connect(path, write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. No call is valid after it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of a block or nothing of it."""
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            # Some errors, a full disk among them, have rolled it back already.
            with contextlib.suppress(BookError):
                if self._connection.in_transaction:
                    self.run("ROLLBACK")
            raise

    def run(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise BookError(f"book {self.path}: {error}") from error

    def cursor(self, statement: str, *values: object) -> Iterator[Any]:
        """The rows, one by one."""
        try:
            yield from self._connection.cursor().execute(statement, values)
        except sqlite3.Error as error:
            raise BookError(f"book {self.path}: {error}") from error

    def rows(self, statement: str, *values: object) -> list[Any]:
        return list(self.cursor(statement, *values))

    def row(self, statement: str, *values: object) -> Any | None:
        """The first row; None: there is none."""
        return next(iter(self.rows(statement, *values)), None)
