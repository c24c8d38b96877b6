"""The book that learns: searches, games, lessons and imported candidates in one SQLite file, written by one process at
a time.

Usage::

    with LearnedBook(Path("learned.sqlite")) as book:
        book.keep(sfen, BookSearch("7g7f", 35, 18, seconds=12.5))  # method I
        search = book.search_of(sfen)                              # in either colour, at any ply
        lesson = book.next_lesson()                                # method II

A position is a text in the form of `master.book.lessons.PositionKey`: black to move, without a ply. Moves are USI of
that position. With write-ahead logging a crash loses at most the last moments' data, and readers never wait.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, Self

from master.book.dbfile import WrittenMove
from master.book.lessons import BookSearch, Lesson, OwnMove, PositionKey
from worker.book import BookError, BookMove
from worker.book.format import flip_entry, join_sfen, ranked, split_sfen
from worker.files import reason
from worker.locks import lock
from worker.score import MATE_BOUND

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
"""
"""``pieces``: the searches of a lesson so far. An older file may have a table ``running``, which is ignored."""


def _connect(path: Path, write: bool) -> tuple[sqlite3.Connection, IO[bytes] | None]:
    """Open the file, and create it if it is to be written and does not exist.

    Returns:
        The connection, and for a writer the lock file that it holds; the caller closes both.

    Raises:
        BookError: no such file, not a book of ours, of a newer version, damaged, or locked by another writing process.
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
    """Take the lock for as long as the file is open; the kernel releases it whenever the process ends."""
    file = open(f"{path}.lock", "a+b")  # noqa: SIM115 - open for the book's life
    try:
        lock(file, wait=False)
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
        other = "a newer one" if version > VERSION else "the one that wrote it, and export its moves"
        raise BookError(f"book {path}: version {version} of the tables; this Gougi knows {VERSION}: take {other}")
    if version == 0 and (count or not write):
        raise BookError(f"book {path}: an SQLite file, but no learned book of Gougi")
    if write:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


_LESSONS_OF_A_GAME: Final = 100_000
"""Difference in importance between the lessons of one game and the next."""
_AFTER_THE_OTHERS: Final = 100
_IMPORT: Final = """
INSERT INTO imported VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (position, move) DO UPDATE SET
    ponder = CASE WHEN {newer} THEN coalesce(?3, ponder) ELSE coalesce(ponder, ?3) END,
    value = CASE WHEN {newer} THEN ?4 ELSE value END, depth = max(depth, ?5), count = {count}, ply = min(ply, ?7)
"""
"""Insert or update a candidate: ``newer`` says whether the new line replaces the old one. Ply 0: any."""
_IMPORT_ANEW: Final = _IMPORT.format(newer="?5 >= depth", count="?6")
_IMPORT_MORE: Final = _IMPORT.format(newer="(?5, ?6) > (depth, count)", count="count + ?6")


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A finished game, as stored in the book."""

    name: str
    opponent: str
    colour: int
    result: str
    """``WIN``, ``LOSE``, ``DRAW`` …: `master.player.events.Conclusion`."""
    reason: str
    own: tuple[OwnMove, ...] = ()


@dataclass(frozen=True, slots=True)
class BookStats:
    """Counts of the book's content."""

    searches: int
    studied: int
    """The number of these that method II made."""
    seconds: float
    """Reference seconds of all searches."""
    games: dict[str, int]
    """By result."""
    lessons: int
    lesson_seconds: float
    imported_positions: int
    imported_moves: int
    nps: float | None


class LearnedBook:
    """An open learned book; calls must come from one thread at a time. Its methods raise `BookError`.

    Args:
        path: the file; created if it is to be written and does not exist.
        write: whether to write. Only one process at a time can; any number can read meanwhile.
    """

    def __init__(self, path: Path, write: bool = True) -> None:
        self.path = path
        self._connection, self._lock = _connect(path, write)

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
    def _transaction(self) -> Iterator[None]:
        """All of a block or nothing of it."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            # Some errors, such as a full disk, have already rolled it back.
            with contextlib.suppress(BookError):
                if self._connection.in_transaction:
                    self._run("ROLLBACK")
            raise

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise BookError(f"book {self.path}: {error}") from error

    def _each(self, statement: str, *values: object) -> Iterator[Any]:
        try:
            yield from self._run(statement, *values)
        except sqlite3.Error as error:
            raise BookError(f"book {self.path}: {error}") from error

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return list(self._each(statement, *values))

    def _row(self, statement: str, *values: object) -> Any | None:
        """The first row; None: there is none."""
        return next(iter(self._rows(statement, *values)), None)

    # Searches

    def search_of(self, sfen: str) -> BookSearch | None:
        """The book's search of a position, at any ply and in either colour; None: it has none."""
        key = PositionKey.of(sfen)
        row = self._row("SELECT move, score, depth, seconds, pv, studied FROM searches WHERE position = ?", key.text)
        if row is None:
            return None
        move, score, depth, seconds, pv, studied = row
        return key.turn(BookSearch(move, score, depth, seconds, tuple(pv.split()), bool(studied)))

    def keep(self, sfen: str, search: BookSearch) -> bool:
        """Store a search, unless the book has a longer one of the position; a mate always counts as new. Returns
        whether it was stored."""
        key = PositionKey.of(sfen)
        own = key.turn(search)
        _, ply = split_sfen(sfen)
        done = self._run(
            "INSERT INTO searches VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (position) DO UPDATE SET"
            " move = excluded.move, score = excluded.score, depth = excluded.depth, seconds = excluded.seconds,"
            " pv = excluded.pv, studied = excluded.studied, ply = min(ply, excluded.ply)"
            " WHERE excluded.seconds >= seconds"
            f" OR (abs(excluded.score) >= {MATE_BOUND} AND abs(score) < {MATE_BOUND})",
            *(key.text, own.move, own.score, own.depth, own.seconds, " ".join(own.pv), int(own.studied), ply),
        )
        return done.rowcount > 0

    # Games and lessons

    def add_game(self, game: FinishedGame, lessons: Sequence[Lesson] = ()) -> None:
        """Store a game, and queue its lessons, the most important first. All of it or nothing."""
        with self._transaction():
            ended = datetime.now().isoformat(timespec="seconds")
            number = self._run(
                "INSERT INTO games (name, opponent, colour, result, reason, ended) VALUES (?, ?, ?, ?, ?, ?)",
                *(game.name, game.opponent, game.colour, game.result, game.reason, ended),
            ).lastrowid
            assert number is not None
            for own in game.own:
                key = PositionKey.of(own.sfen)
                move = key.turn(BookSearch(own.move, 0, 0, 0.0)).move
                self._run(
                    "INSERT OR REPLACE INTO played VALUES (?, ?, ?, ?, ?, ?)",
                    *(number, own.ply, key.text, move, own.known_score, own.seconds),
                )
            for rank, lesson in enumerate(lessons):
                self._add_lesson(lesson, importance=number * _LESSONS_OF_A_GAME - rank)

    def _add_lesson(self, lesson: Lesson, importance: int) -> None:
        key = PositionKey.of(lesson.sfen).text
        self._run(
            "INSERT OR REPLACE INTO lessons (position, start_sfen, moves, sfen, ply, seconds, importance)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(key, lesson.start_sfen, " ".join(lesson.moves), lesson.sfen, lesson.ply, lesson.seconds, importance),
        )

    def next_lesson(self) -> Lesson | None:
        """The most important lesson: of the latest game, nearest to its turn. It stays in the queue."""
        row = self._row(
            "SELECT start_sfen, moves, sfen, ply, seconds FROM lessons ORDER BY importance DESC, id LIMIT 1"
        )
        if row is None:
            return None
        return Lesson(row[0], tuple(row[1].split()), row[2], row[3], row[4], self._pieces(row[2]))

    def add_piece(self, lesson: Lesson, piece: BookSearch) -> None:
        """Store a search of an unfinished lesson, and its result if it is better than the known one."""
        key = PositionKey.of(lesson.sfen)
        own = key.turn(piece)
        with self._transaction():
            self._run(
                "INSERT INTO pieces (position, move, score, depth, seconds, pv) VALUES (?, ?, ?, ?, ?, ?)",
                *(key.text, own.move, own.score, own.depth, own.seconds, " ".join(own.pv)),
            )
            self.keep(lesson.sfen, piece)

    def _pieces(self, sfen: str) -> tuple[BookSearch, ...]:
        key = PositionKey.of(sfen)
        rows = self._rows("SELECT move, score, depth, seconds, pv FROM pieces WHERE position = ? ORDER BY id", key.text)
        return tuple(
            key.turn(BookSearch(move, score, depth, seconds, tuple(pv.split()), studied=True))
            for move, score, depth, seconds, pv in rows
        )

    def finish_lesson(self, lesson: Lesson, search: BookSearch | None, following: Lesson | None = None) -> None:
        """Remove a lesson from the queue, and store its result; all of it or nothing.

        Args:
            search: of all its pieces (`master.book.lessons.judged`).
            following: another lesson that results from it, unless its position is in the queue: after the others of its
            game.
        """
        position = PositionKey.of(lesson.sfen).text
        with self._transaction():
            row = self._row("SELECT importance FROM lessons WHERE position = ?", position)
            self._run("DELETE FROM lessons WHERE position = ?", position)
            self._run("DELETE FROM pieces WHERE position = ?", position)
            if search is not None:
                self.keep(lesson.sfen, search)
            if row is not None and following is not None and not self._queued(following):
                self._add_lesson(following, row[0] - _AFTER_THE_OTHERS)

    def _queued(self, lesson: Lesson) -> bool:
        return self._row("SELECT 1 FROM lessons WHERE position = ?", PositionKey.of(lesson.sfen).text) is not None

    def lessons_left(self) -> int:
        """The number of lessons in the queue."""
        return int(self._rows("SELECT count(*) FROM lessons")[0][0])

    # Candidates of other books

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """The imported candidates, the most played first: `worker.book.Lookup`. They are valid at any ply."""
        key = PositionKey.of(sfen)
        rows = self._rows("SELECT move, ponder, value, depth, count FROM imported WHERE position = ?", key.text)
        moves = [BookMove(*row) for row in rows]
        return ranked([flip_entry(move) for move in moves] if key.flipped else moves)

    def import_moves(self, positions: Iterable[tuple[str, Sequence[BookMove]]]) -> tuple[int, int]:
        """Import candidates; they replace those of an existing move, unless that was searched deeper.

        A move may occur twice among them: in a position and in the same one with the colours swapped. Its counts add
        up, and its value is that of the deeper line, at equal depth that of the larger count. A missing ponder move is
        taken from the other line.

        Args:
            positions: each an SFEN, with or without a ply, and its candidates.

        Returns:
            Numbers of positions and moves.
        """
        count = moves = 0
        with self._transaction():
            self._run("CREATE TEMP TABLE taken (position TEXT, move TEXT, PRIMARY KEY (position, move)) WITHOUT ROWID")
            for sfen, candidates in positions:
                key = PositionKey.of(sfen)
                _, ply = split_sfen(sfen)
                count += 1
                for candidate in candidates:
                    own = flip_entry(candidate) if key.flipped else candidate
                    moves += 1
                    new = self._run("INSERT OR IGNORE INTO taken VALUES (?, ?)", key.text, own.move).rowcount
                    self._run(
                        _IMPORT_ANEW if new else _IMPORT_MORE,
                        *(key.text, own.move, own.ponder, own.value, own.depth, own.count, ply),
                    )
            self._run("DROP TABLE taken")
        return count, moves

    # Facts, and the whole

    def nps(self) -> float | None:
        """The fleet's last measured speed, in nodes per second."""
        row = self._row("SELECT value FROM facts WHERE name = 'nps'")
        return None if row is None else float(row[0])

    def set_nps(self, nps: float) -> None:
        self._run("INSERT OR REPLACE INTO facts VALUES ('nps', ?)", repr(nps))

    def stats(self) -> BookStats:
        """Counts over the whole book."""
        searches, studied, seconds = self._rows("SELECT count(*), total(studied), total(seconds) FROM searches")[0]
        lessons, lesson_seconds = self._rows("SELECT count(*), total(seconds) FROM lessons")[0]
        positions, moves = self._rows("SELECT count(DISTINCT position), count(*) FROM imported")[0]
        games = dict(self._rows("SELECT result, count(*) FROM games GROUP BY result ORDER BY result"))
        return BookStats(searches, int(studied), seconds, games, lessons, lesson_seconds, positions, moves, self.nps())

    def export(self) -> Iterator[tuple[str, list[WrittenMove]]]:
        """All positions in the form of `master.book.dbfile.write_positions`. Our own search's move comes first, and
        counts as the most played one, because readers go by that.
        """
        for (key,) in self._each("SELECT position FROM searches UNION SELECT position FROM imported ORDER BY 1"):
            sfen = f"{key} 1"
            moves = self.find(sfen)
            ply = 1
            search = self.search_of(sfen)
            if search is not None:
                reply = search.pv[1] if len(search.pv) > 1 else None
                most = max((move.count for move in moves), default=0)
                moves = [move for move in moves if move.move != search.move]
                moves.insert(0, BookMove(search.move, reply, search.score, search.depth, most + 1))
            row = self._row(
                "SELECT min(ply) FROM (SELECT ply FROM searches WHERE position = ?1"
                " UNION ALL SELECT ply FROM imported WHERE position = ?1)",
                key,
            )
            if row is not None and row[0] is not None:
                ply = row[0] and row[0] | 1  # black moves at odd numbers
            yield join_sfen(key, ply), [WrittenMove(move) for move in moves]
