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
from rsshogi.record import GameResult, Record

_MOST_SCORE: Final = 3000
"""Scores beyond it, mates among them, count as this."""
_RATE: Final = re.compile(r"^'(black|white)_rate:[^\n]*:(-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_ABNORMAL: Final = re.compile(r"^'summary:(?!toryo:|kachi:|sennichite:|max_moves:)", re.MULTILINE)
"""Time up, illegal moves, dropped lines: the result says nothing about the moves."""
_WINS: Final = (
    frozenset({GameResult.BLACK_WIN, GameResult.BLACK_WIN_BY_DECLARATION}),
    frozenset({GameResult.WHITE_WIN, GameResult.WHITE_WIN_BY_DECLARATION}),
)
_DRAWS: Final = frozenset({GameResult.DRAW_BY_REPETITION, GameResult.DRAW_BY_MAX_PLIES, GameResult.DRAW_BY_IMPASSE})


class Skipped(enum.StrEnum):
    """The reasons to leave a game out."""

    UNREADABLE = "unreadable"
    UNFINISHED = "no proper end"
    SHORT = "too short"
    RATING = "rating too low, or unknown"
    GAP = "ratings too far apart"
    ONE_SIDED = "decided in the opening"


@dataclass(frozen=True, slots=True)
class GameRules:
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


def read_game(path: Path, rules: GameRules) -> list[BookPly] | Skipped:
    """The book's part of a CSA record, or why it is left out."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
        record = Record.from_csa_str(text)
    except (OSError, ValueError):
        return Skipped.UNREADABLE
    won = _black_won(record.result)
    if won is None or _ABNORMAL.search(text):
        return Skipped.UNFINISHED
    if record.move_count < rules.min_plies:
        return Skipped.SHORT
    rates = {side: float(rate) for side, rate in _RATE.findall(text)}
    if rules.min_rating is not None and (len(rates) < 2 or min(rates.values()) < rules.min_rating):
        return Skipped.RATING
    if rules.max_gap is not None and (len(rates) < 2 or abs(rates["black"] - rates["white"]) > rules.max_gap):
        return Skipped.GAP
    try:
        plies = list(_plies(record, won, rules.plies))
    except ValueError:
        return Skipped.UNREADABLE
    if rules.one_sided is not None and any(abs(ply.score or 0) > rules.one_sided for ply in plies):
        return Skipped.ONE_SIDED
    return plies


def _plies(record: Record, black_won: float, count: int) -> Iterator[BookPly]:
    board = Board(record.init_position_sfen)
    for entry in record.moves[:count]:
        key, ply = board.to_sfen().rsplit(" ", 1)
        black = key.split(" ")[1] == "b"
        usi = entry.move.to_usi()
        score = None if entry.engine_info is None else entry.engine_info.eval  # from black's view, as CSA has it
        if score is not None:
            score = max(-_MOST_SCORE, min(_MOST_SCORE, score if black else -score))
        yield BookPly(key, int(ply), usi, black_won if black else 1 - black_won, score)
        board.apply_usi(usi)


def _black_won(result: GameResult) -> float | None:
    if result in _WINS[0]:
        return 1.0
    if result in _WINS[1]:
        return 0.0
    return 0.5 if result in _DRAWS else None
