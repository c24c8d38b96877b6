"""A book from many game records: several processes read, and one adds up, in a temporary SQLite file, so that any
number of games fits.

Source of the filters: practice of authors of books from floodgate records (tanuki-'s book tools: ratings of both
players, only games that were resigned, a move's wins and losses; the comments ``'black_rate``, ``'white_rate`` and
``'summary`` are those of shogi-server).
"""

from __future__ import annotations

import contextlib
import enum
import math
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Self

from rsshogi.core import Board

from cluster.machine.side_by_side import ProcessWorkplace, side_by_side
from cluster.processors import processors
from master.book.dbfile import WrittenMove
from master.records.read_csa import csa_parts, read_csa
from master.records.reading import DRAWS, Reading, RecordFault, decoded, text_lines
from worker.book import BookError, BookMove
from worker.book.format import flip_key, flip_move
from worker.files import reason

_MOST_SCORE: Final = 3000
"""Higher scores, including mates, count as this."""
_RATE: Final = re.compile(r"^'(black|white)_rate:[^\n]*:(-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_ABNORMAL: Final = re.compile(r"^'summary:(?!toryo:|kachi:|sennichite:|max_moves:)", re.MULTILINE)
"""Time up, illegal moves, lost connections: the result says nothing about the moves."""
_WINS: Final = frozenset({"RESIGN", "MATE", "WIN_BY_DECLARATION"})
"""The endings in which the winner won by the moves."""


class Skipped(enum.StrEnum):
    """The reasons to leave a game out."""

    UNREADABLE = "unreadable"
    EMPTY = "no moves in it"
    UNFINISHED = "no proper end"
    SHORT = "too short"
    RATING = "rating too low, or unknown"
    GAP = "ratings too far apart"
    ONE_SIDED = "decided in the opening"


@dataclass(frozen=True, slots=True)
class GameFilter:
    """The rules by which games are selected."""

    min_rating: float | None = None
    """Minimum rating of both players, by the record's own comments; None: any, even unknown."""
    max_gap: float | None = None
    """Maximum difference of the ratings; None: any."""
    min_plies: int = 50
    """A shorter game was lost by an accident."""
    plies: int = 40
    """Number of plies of a game that go into the book."""
    one_sided: int | None = 600
    """A game in which a side's score exceeded this, in centipawns, within the book's plies is left out: no opening can
    be learned from it. None: it is included."""


@dataclass(frozen=True, slots=True)
class BookPly:
    """A move of a game, as counted for the book."""

    key: str
    """Board, side and hands."""
    ply: int
    """The move's number."""
    move: str
    """USI."""
    won: float
    """Result for the mover: 1, 0, or 0.5."""
    score: int | None
    """The player's own score, in centipawns from their side; None if the record does not say."""


def read_games(path: Path, rules: GameFilter) -> Iterator[list[BookPly] | tuple[Skipped, str]]:
    """The book's part of each game of a CSA file, or the reason why it is left out.

    With `Skipped` comes the fault of a broken or empty game, in words that name file and line; an empty text for a game
    that the rules leave out.
    """
    try:
        lines = text_lines(decoded(path.read_bytes()))
    except OSError as error:
        yield Skipped.UNREADABLE, f"{path}: {reason(error)}"
        return
    except RecordFault as error:
        yield Skipped.UNREADABLE, f"{path}: {error}"
        return
    parts = list(csa_parts(lines))
    for number, (first, part) in enumerate(parts, start=1):
        try:
            reading = read_csa(part)
        except RecordFault as error:
            yield Skipped.UNREADABLE, f"{path}, line {first + (error.line or 0) + 1}: {error}"
            continue
        if not reading.moves:
            yield Skipped.EMPTY, f"{path}{f', game {number}' if len(parts) > 1 else ''}: no moves in it"
            continue
        game = _judged(reading, "\n".join(part), rules)
        yield (game, "") if isinstance(game, Skipped) else game


def _judged(reading: Reading, text: str, rules: GameFilter) -> list[BookPly] | Skipped:
    won = _black_won(reading)
    if won is None or _ABNORMAL.search(text):
        return Skipped.UNFINISHED
    if len(reading.moves) < rules.min_plies:
        return Skipped.SHORT
    rates = {side: float(rate) for side, rate in _RATE.findall(text)}
    if rules.min_rating is not None and (len(rates) < 2 or min(rates.values()) < rules.min_rating):
        return Skipped.RATING
    if rules.max_gap is not None and (len(rates) < 2 or abs(rates["black"] - rates["white"]) > rules.max_gap):
        return Skipped.GAP
    plies = list(_plies(reading, won, rules.plies))
    if rules.one_sided is not None and any(abs(ply.score or 0) > rules.one_sided for ply in plies):
        return Skipped.ONE_SIDED
    return plies


def _plies(reading: Reading, black_won: float, count: int) -> Iterator[BookPly]:
    board = Board(reading.start_sfen)
    for move in reading.moves[:count]:
        key, ply = board.to_sfen().rsplit(" ", 1)
        black = key.split(" ")[1] == "b"
        score = move.score  # from black's view, as in CSA
        if score is not None:
            score = max(-_MOST_SCORE, min(_MOST_SCORE, score if black else -score))
        yield BookPly(key, int(ply), move.usi, black_won if black else 1 - black_won, score)
        board.apply_usi(move.usi)


def _black_won(reading: Reading) -> float | None:
    end = reading.end
    if end is None:
        return None
    if end.winner is None:
        return 0.5 if end.kind in DRAWS else None
    return float(end.winner == 0) if end.kind in _WINS else None


_PRIOR_GAMES: Final = 10
"""Even games added to every move's count: one win is no proof."""
_CP_OF_LOGIT: Final = 600
"""Centipawns per unit of log odds, the scale that Ponanza and most engines since use for winning chances."""

Counted = tuple[str, str, int, int, float, int, int]
"""Position, move, ply, games, wins (a draw is half a one), sum of scores, scores."""


@dataclass(frozen=True, slots=True)
class CandidateRules:
    """The rules by which counted moves become candidates."""

    min_games: int = 2
    min_wins: float = 0.0
    """Minimum share of wins, 0 to 1; a draw is half a win."""
    by_scores: bool = False
    """A candidate's value is the mean of the players' scores, if there are any. Otherwise it comes from its wins."""
    depth: int = 0
    """The depth to write; nothing was searched, but engines refuse a depth below their limit."""
    merge_colours: bool = False
    """Positions with white to move are rotated and counted with those of black: twice the games for each."""


@dataclass(slots=True)
class ImportSummary:
    """The games that were read: files, games that count, and the others with the reasons."""

    files: int = 0
    games: int = 0
    skipped: Counter[Skipped] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """Faults of games that are broken or empty, with file and line."""

    def include(self, part: ImportSummary) -> None:
        self.files += part.files
        self.games += part.games
        self.skipped += part.skipped
        self.faults += part.faults


@dataclass(slots=True)
class Part(ImportSummary):
    """The counts of some games, by position and move."""

    counted: dict[tuple[str, str], list[float]] = field(default_factory=dict)

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


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn a disk error into a `BookError` that names the file."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise BookError(f"the games' counts cannot be kept in {path}: {reason(error)}") from error


class Tally:
    """The counts of all games, on the disk. Raises BookError: the folder for temporary files cannot be written."""

    def __init__(self, rules: CandidateRules) -> None:
        self._rules = rules
        with _disk_errors(Path(tempfile.gettempdir())):
            self._folder = tempfile.TemporaryDirectory(prefix="gougi-book-")
        self._path = Path(self._folder.name) / "tally.sqlite"
        with _disk_errors(self._path):
            self._connection = sqlite3.connect(self._path, isolation_level=None)
            # The file does not outlive the process, so there is no need to wait for the disk.
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
        """Add the counts of some games. Raises BookError: writing to disk failed."""
        with _disk_errors(self._path):
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO counted VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (position, move) DO UPDATE SET"
                " ply = min(ply, excluded.ply), games = games + excluded.games, wins = wins + excluded.wins,"
                " score = score + excluded.score, scores = scores + excluded.scores",
                ((key, move, *row) for (key, move), row in part.counted.items()),
            )
            self._connection.execute("COMMIT")

    def positions(self) -> Iterator[tuple[str, list[WrittenMove]]]:
        """The positions with candidates, in byte order, each an SFEN with its lowest ply.

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
        """The opponent's most played reply; None if none was counted."""
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
    """Centipawns of a share of wins, shrunk towards 0 if there are few games."""
    share = (wins + _PRIOR_GAMES / 2) / (games + _PRIOR_GAMES)
    return round(_CP_OF_LOGIT * math.log(share / (1 - share)))


_CHUNK: Final = 200
"""Games that a process reads at a time."""


def find_records(folders: Sequence[Path]) -> list[Path]:
    """The CSA files in folders and their subfolders, sorted; a file stands for itself. Raises FileNotFoundError: a
    folder does not exist."""
    found: list[Path] = []
    for folder in folders:
        if folder.is_file():
            found.append(folder)
        elif folder.is_dir():
            found += sorted(folder.rglob("*.csa"))
        else:
            raise FileNotFoundError(f"{folder}: no such file or folder")
    return found


def count_records(
    paths: Sequence[Path],
    rules: GameFilter,
    tally: Tally,
    merge_colours: bool,
    jobs: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ImportSummary:
    """Count all games.

    Args:
        jobs: number of reading processes; 0: one for each processor. With one, this process does everything.
        on_progress: callback with the number of records read so far.

    Raises:
        BookError: a process died.
    """
    summary = ImportSummary()
    chunks = [paths[start : start + _CHUNK] for start in range(0, len(paths), _CHUNK)]
    jobs = min(jobs or processors(), len(chunks))
    work = partial(_count, rules, merge_colours)
    parts: Iterable[Part]
    if jobs > 1:  # a process delays its next part until its last one was taken, so that memory stays small
        parts = side_by_side([ProcessWorkplace(work, _refused) for _ in range(jobs)], chunks)
    else:
        parts = map(partial(work, None), chunks)
    for part in parts:
        tally.add(part)
        summary.include(part)
        on_progress(summary.files)
    return summary


def _count(rules: GameFilter, merge_colours: bool, _tell: object, chunk: Sequence[Path]) -> Part:
    """Read and count some games; may run in a process of its own."""
    part = Part(files=len(chunk))
    for path in chunk:
        for game in read_games(path, rules):
            if isinstance(game, list):
                part.add(game, merge_colours)
                continue
            why, fault = game
            part.skipped[why] += 1
            if fault:
                part.faults.append(fault)
    return part


def _refused(chunk: Sequence[Path], error: Exception) -> BookError:
    return BookError(f"{chunk[0]} and {len(chunk) - 1} more records: {error}")
