"""The book for a player: an open file, the position's legal candidates, their variations, and the choice."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from worker.book.format import BookMove, flip_entry, flip_key, split_sfen
from worker.book.several import Lookup, open_with_priority
from worker.shogi import MoveError, Position, Repetition, move_to_usi

_NARROW_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class BookSettings:
    """The settings of the book. The defaults are YaneuraOu's, except the file: Gougi comes with none."""

    file: Path | None = None
    """``BookFile`` in ``BookDir``; None: no book, or ``USI_OwnBook`` is off."""
    on_the_fly: bool = False
    """``BookOnTheFly``: the file stays on the disk."""
    narrow: bool = False
    """``NarrowBook``: no move that was played in less than a tenth of the games."""
    last_ply: int = 16
    """``BookMoves``: the last move number at which the book is used."""
    ignore_percent: int = 0
    """``BookIgnoreRate``: the percentage of positions in which the book is not used, by chance."""
    eval_diff: int = 30
    """``BookEvalDiff``: the centipawns by which a move may be worse than the first."""
    eval_limits: tuple[int, int] = (0, -140)
    """``BookEvalBlackLimit``, ``BookEvalWhiteLimit``: the least value for black and for white, in centipawns."""
    depth_limit: int = 16
    """``BookDepthLimit``: the first move's least depth; 0: any."""
    by_count: bool = False
    """``ConsiderBookMoveCount``: the chance of a move is in proportion to its count; otherwise all are equal."""
    pv_moves: int = 8
    """``BookPvMoves``: the longest variation that is shown, in plies."""
    any_ply: bool = False
    """``IgnoreBookPly``: accept the same position at another move number."""
    flipped: bool = True
    """``FlippedBook``: a position that is not in the book is also looked up rotated by 180°, with the colours
    swapped."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The move (None: none), and remarks for the user on the moves that the options excluded."""

    move: BookMove | None
    notes: tuple[str, ...] = ()


class Eligible(NamedTuple):
    """The moves that the options allow, in order, and remarks on those that they exclude."""

    moves: tuple[BookMove, ...]
    notes: tuple[str, ...] = ()


def eligible(moves: Sequence[BookMove], settings: BookSettings, ply: int, turn: int, rng: random.Random) -> Eligible:
    """Choose the candidates that the settings allow; empty if the book is not to be used.

    Args:
        moves: the candidates, the most played first.
        ply: the number of the move to be made (1 at the start).
        turn: the side to move, 0 black, 1 white.
        rng: its next number decides whether the book is used.
    """
    if rng.randrange(100) < settings.ignore_percent or ply > settings.last_ply or not moves:
        return Eligible(())
    notes: list[str] = []
    left = list(moves)
    total = sum(move.count for move in moves)
    if settings.narrow and total:  # a .ybb has no counts
        left = [move for move in moves if move.count / total >= _NARROW_SHARE]
        if len(left) < len(moves):
            notes.append(f"NarrowBook: {len(moves)} moves to {len(left)}")
    if left and settings.depth_limit and left[0].depth < settings.depth_limit:
        notes.append(f"BookDepthLimit {settings.depth_limit}: the book's depth is {left[0].depth}")
        return Eligible((), tuple(notes))
    if left:
        least = max(left[0].value - settings.eval_diff, settings.eval_limits[turn])
        good = [move for move in left if move.value >= least]
        if len(good) < len(left):
            limit = f"{('BookEvalBlackLimit', 'BookEvalWhiteLimit')[turn]} {settings.eval_limits[turn]}"
            notes.append(f"BookEvalDiff {settings.eval_diff}, {limit}: {len(left)} moves to {len(good)}")
        left = good
    return Eligible(tuple(left), tuple(notes))


def select(moves: Sequence[BookMove], settings: BookSettings, ply: int, turn: int, rng: random.Random) -> Selection:
    """Choose among a position's candidates: `eligible`, and a random one of these.

    The same state of ``rng`` gives the same move; one or two numbers are drawn.
    """
    left, notes = eligible(moves, settings, ply, turn, rng)
    if not left:
        return Selection(None, notes)
    weights = [move.count for move in left]
    if settings.by_count and any(weights):
        return Selection(rng.choices(left, weights)[0], notes)
    return Selection(rng.choice(left), notes)


class Candidate(NamedTuple):
    """A legal move of the book and the variation that the book gives for it, the move itself first."""

    entry: BookMove
    pv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BookReply:
    """The book's answer for a position. ``move`` is None if the options allow no move."""

    move: str | None
    ponder: str | None = None
    candidates: tuple[Candidate, ...] = ()
    """All legal candidates, the most played first; empty if there is no ``move``."""
    notes: tuple[str, ...] = ()
    """A remark on each excluded move, with the reason."""


def legal_entries(book: Lookup, position: Position, settings: BookSettings) -> tuple[list[BookMove], list[str]]:
    """A position's candidates that are legal, and a note on each that is not.

    If the book does not have it and the settings allow it, the rotated position is looked up.

    Raises:
        BookError: the file is damaged at the position's entry.
    """
    sfen = position.sfen()
    entries = book.find(sfen, settings.any_ply)
    if not entries and settings.flipped:
        key, ply = split_sfen(sfen)
        entries = [flip_entry(entry) for entry in book.find(f"{flip_key(key)} {ply}", settings.any_ply)]
    legal, notes = [], []
    for entry in entries:
        try:
            position.parse_usi(entry.move)
        except MoveError as error:
            notes.append(f"book: {error}")
        else:
            legal.append(entry)
    return legal, notes


class BookPlayer:
    """Plays from a book.

    Args:
        rng: makes every random choice.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._book: Lookup | None = None
        self._opened: tuple[Path | None, bool] = (None, False)

    def has(self, settings: BookSettings) -> bool:
        """Whether the book that the settings name (or none) is already open."""
        return self._opened == (settings.file, settings.on_the_fly)

    def open(self, settings: BookSettings) -> None:
        """Open the book that the settings name, if it is not open already.

        Raises:
            BookError: it cannot be read; then there is no book.
        """
        if self.has(settings):
            return
        self._book, self._opened = None, (None, False)
        if settings.file is not None:
            self._book = open_with_priority(settings.file, settings.on_the_fly)
        self._opened = settings.file, settings.on_the_fly

    def reply(self, position: Position, settings: BookSettings, only: Sequence[str] = ()) -> BookReply:
        """The book's move for a position.

        Args:
            position: unchanged afterwards.
            only: USI moves that are allowed; empty: all. If the book chooses another move, the reply has no move.

        Raises:
            BookError: the file is damaged at the position's entry.
        """
        if self._book is None or settings.file is None:
            return BookReply(None)
        entries, notes = legal_entries(self._book, position, settings)
        chosen = select(entries, settings, position.move_number, position.turn, self._rng)
        notes += chosen.notes
        if chosen.move is None or (only and chosen.move.move not in only):
            return BookReply(None, notes=tuple(notes))
        candidates = tuple(
            Candidate(entry, self._variation(self._book, position, entry, settings)) for entry in entries
        )
        ponder = self._ponder(self._book, position, chosen.move, settings)
        return BookReply(chosen.move.move, ponder, candidates, tuple(notes))

    def _variation(self, book: Lookup, position: Position, entry: BookMove, settings: BookSettings) -> tuple[str, ...]:
        """The entry's move and its continuation: the book's first move each time, and at the end the expected reply."""
        made = [position.push_usi(entry.move)]
        try:
            while len(made) < settings.pv_moves and position.repetition() is Repetition.NONE:
                following, _ = legal_entries(book, position, settings)
                if following:
                    entry = following[0]
                    made.append(position.push_usi(entry.move))
                    continue
                if entry.ponder is not None:
                    with contextlib.suppress(MoveError):
                        made.append(position.push_usi(entry.ponder))
                break
        finally:  # even if the book is damaged: the position belongs to the caller
            for _ in made:
                position.pop()
        return tuple(move_to_usi(move) for move in made)

    def _ponder(self, book: Lookup, position: Position, entry: BookMove, settings: BookSettings) -> str | None:
        """The reply that the entry expects, else the book's first move after it."""
        position.push_usi(entry.move)
        try:
            if entry.ponder is not None:
                with contextlib.suppress(MoveError):
                    return move_to_usi(position.parse_usi(entry.ponder))
            following, _ = legal_entries(book, position, settings)
            return following[0].move if following else None
        finally:
            position.pop()
