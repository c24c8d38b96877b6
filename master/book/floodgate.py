"""Games of a record folder for a book: which are taken, and what each says about its positions.

Source of the filters: what makers of books from floodgate records do (tanuki-'s book tools: ratings of both players,
only games that were resigned, a move's wins and losses; the comments ``'black_rate``, ``'white_rate`` and ``'summary``
are those of shogi-server).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rsshogi.core import Board

from master.records.read_csa import csa_parts, read_csa
from master.records.reading import DRAWS, Reading, RecordFault, decoded, text_lines
from worker.files import reason

_MOST_SCORE: Final = 3000
"""Scores beyond it, mates among them, count as this."""
_RATE: Final = re.compile(r"^'(black|white)_rate:[^\n]*:(-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_ABNORMAL: Final = re.compile(r"^'summary:(?!toryo:|kachi:|sennichite:|max_moves:)", re.MULTILINE)
"""Time up, illegal moves, dropped lines: the result says nothing about the moves."""
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
    """The rules by which games are taken."""

    min_rating: float | None = None
    """Both players have at least this, by the record's own comments; None: any, also unknown."""
    max_gap: float | None = None
    """The ratings differ by no more than this; None: by anything."""
    min_plies: int = 50
    """A shorter game was lost by an accident."""
    plies: int = 40
    """Number of plies of a game that go into the book."""
    one_sided: int | None = 600
    """A game in which a side's score went beyond this, in centipawns, within the book's plies is left out: there is no
    opening to learn from it. None: it is taken."""


@dataclass(frozen=True, slots=True)
class BookPly:
    """A move of a game, as the book counts it."""

    key: str
    """Board, side and hands."""
    ply: int
    """The move's number."""
    move: str
    """USI."""
    won: float
    """By who made the move: 1, 0, or 0.5."""
    score: int | None
    """The score that the player gave, in centipawns from their side; None where the record does not say."""


def read_games(path: Path, rules: GameFilter) -> Iterator[list[BookPly] | tuple[Skipped, str]]:
    """The book's part of each game of a CSA file, or why it is left out.

    Beside `Skipped` stands what is wrong with a game that is broken or empty, in words that name file and line; nothing
    of one that the rules leave out.
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
        score = move.score  # from black's view, as CSA has it
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
