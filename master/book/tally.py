"""Counts of games by position: in a temporary SQLite file, so that any number of games fits.

Processes read games and count them in parts; one adds the parts up. In the end it gives the positions in a book file's
order, each with the candidates that have enough games and wins.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from rsshogi.core import Board

from master.book.dbfile import WrittenMove
from master.book.floodgate import BookPly, GameFilter, Skipped, read_games
from worker.book import BookError, BookMove
from worker.book.format import flip_key, flip_move
from worker.files import reason

_PRIOR_GAMES: Final = 10
"""Even games that every move is taken to have had besides: one win is no proof."""
_CP_OF_LOGIT: Final = 600
"""Centipawns to the logarithm of the odds, as Ponanza and most since take winning chances for scores."""

Counted = tuple[str, str, int, int, float, int, int]
"""Position, move, ply, games, wins (a draw is half a one), sum of scores, scores."""


@dataclass(frozen=True, slots=True)
class CandidateRules:
    """The rules by which counted moves become candidates."""

    min_games: int = 2
    min_wins: float = 0.0
    """The least share of wins, 0 to 1; a draw is half a win."""
    by_scores: bool = False
    """A candidate's value is the mean of the players' scores, where there are any. Otherwise it comes from its wins."""
    depth: int = 0
    """The depth that the book gives; nothing was searched, but engines refuse a depth below their limit."""
    merge_colours: bool = False
    """Positions with white to move are turned around and counted with those of black: twice the games for each."""


@dataclass(slots=True)
class Part:
    """The counts of some games."""

    counted: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    files: int = 0
    games: int = 0
    skipped: Counter[Skipped] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """Faults of games that are broken or empty, with file and line."""

    def add(self, plies: Iterable[BookPly], merge_colours: bool) -> None:
        """Count one game."""
        self.games += 1
        for ply in plies:
            key, move = ply.key, ply.move
            if merge_colours and key.split(" ")[1] == "w":
                key, move = flip_key(key), flip_move(move)
            row = self.counted.setdefault((key, move), [ply.ply, 0, 0.0, 0, 0])
            row[0] = min(row[0], ply.ply)
            row[1] += 1
            row[2] += ply.won
            if ply.score is not None:
                row[3] += ply.score
                row[4] += 1


def count_games(paths: Sequence[Path], rules: GameFilter, merge_colours: bool) -> Part:
    """Read and count some games; may run in a process of its own."""
    part = Part(files=len(paths))
    for path in paths:
        for game in read_games(path, rules):
            if isinstance(game, list):
                part.add(game, merge_colours)
                continue
            why, fault = game
            part.skipped[why] += 1
            if fault:
                part.faults.append(fault)
    return part


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn an error of the disk into a `BookError` that names the file."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise BookError(f"the games' counts cannot be kept in {path}: {reason(error)}") from error


class Tally:
    """The counts of all games, on the disk. Raises BookError: the folder for temporary files cannot be written."""

    def __init__(self, rules: CandidateRules) -> None:
        self._rules = rules
        with _told(Path(tempfile.gettempdir())):
            self._folder = tempfile.TemporaryDirectory(prefix="gougi-book-")
        self._path = Path(self._folder.name) / "tally.sqlite"
        with _told(self._path):
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            # Nothing here outlives the process: no need to wait for the disk.
            self._connection.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "CREATE TABLE counted (position TEXT, move TEXT, ply INTEGER, games INTEGER, wins REAL, score INTEGER,"
                " scores INTEGER, PRIMARY KEY (position, move)) WITHOUT ROWID"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._folder.cleanup()

    def add(self, part: Part) -> None:
        """Add the counts of some games.

        Raises:
            BookError: the disk refuses.
        """
        with _told(self._path):
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO counted VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (position, move) DO UPDATE SET"
                " ply = min(ply, excluded.ply), games = games + excluded.games, wins = wins + excluded.wins,"
                " score = score + excluded.score, scores = scores + excluded.scores",
                ((key, move, *row) for (key, move), row in part.counted.items()),
            )
            self._connection.execute("COMMIT")

    def positions(self) -> Iterator[tuple[str, list[WrittenMove]]]:
        """The positions with candidates, in byte order, each a SFEN with the least ply at which it stood.

        A candidate's remark is its share of wins.
        """
        chosen = "SELECT * FROM counted WHERE games >= ?1 AND wins / games >= ?2 ORDER BY position, games DESC, move"
        last = ""
        rows: list[Counted] = []
        for row in self._connection.cursor().execute(chosen, (self._rules.min_games, self._rules.min_wins)):
            if row[0] != last and rows:
                yield self._position(rows)
                rows = []
            last = row[0]
            rows.append(row)
        if rows:
            yield self._position(rows)

    def _position(self, rows: list[Counted]) -> tuple[str, list[WrittenMove]]:
        key, ply = rows[0][0], min(row[2] for row in rows)
        if self._rules.merge_colours:
            ply |= 1  # black moves at odd numbers
        return f"{key} {ply}", [self._move(row) for row in rows]

    def _move(self, row: Counted) -> WrittenMove:
        key, move, _, games, wins, score, scores = row
        if self._rules.by_scores and scores:
            value = round(score / scores)
        else:
            value = value_of_wins(games, wins)
        entry = BookMove(move, self._reply(key, move), value, self._rules.depth, games)
        return WrittenMove(entry, f"wins {100 * wins / games:.1f}% of {games}")

    def _reply(self, key: str, move: str) -> str | None:
        """The opponent's most played reply, None where none was counted."""
        board = Board(f"{key} 1")
        board.apply_usi(move)
        after = board.to_sfen().rsplit(" ", 1)[0]
        flipped = self._rules.merge_colours and after.split(" ")[1] == "w"
        row = self._connection.execute(
            "SELECT move FROM counted WHERE position = ? ORDER BY games DESC, move LIMIT 1",
            (flip_key(after) if flipped else after,),
        ).fetchone()
        if row is None:
            return None
        return flip_move(row[0]) if flipped else str(row[0])


def value_of_wins(games: int, wins: float) -> int:
    """Centipawns of a share of wins, drawn towards 0 where there are few games."""
    share = (wins + _PRIOR_GAMES / 2) / (games + _PRIOR_GAMES)
    return round(_CP_OF_LOGIT * math.log(share / (1 - share)))
