"""The book as a player asks it: an open file, the position's legal candidates, their variations, one choice."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from worker.book.choice import BookSettings, select
from worker.book.file import Book
from worker.book.format import BookMove, flip_entry, flip_key, split_sfen
from worker.shogi import MoveError, Position, Repetition, move_to_usi


class Candidate(NamedTuple):
    """A legal move of the book and the variation that the book gives for it, the move itself first."""

    entry: BookMove
    pv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BookReply:
    """The book's answer for a position. ``move`` is None where the options leave no move."""

    move: str | None
    ponder: str | None = None
    candidates: tuple[Candidate, ...] = ()
    """All legal candidates, the most played first; empty where there is no ``move``."""
    notes: tuple[str, ...] = ()
    """A remark on each move that was left out, with the reason."""


class Lookup(Protocol):
    """Anything that candidates are looked up in, as `worker.book.Book`."""

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        """The candidates of a position, the most played first; see `worker.book.file.Book.find`."""


def legal_entries(book: Lookup, position: Position, settings: BookSettings) -> tuple[list[BookMove], list[str]]:
    """A position's candidates that are legal, and a note on each that is not.

    Where the book does not know it, and the settings allow it, the position turned around is looked for.

    Raises:
        BookError: the file is damaged where the position stands.
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
        rng: makes every choice that is left to chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._book: Book | None = None
        self._opened: tuple[Path | None, bool] = (None, False)

    def has(self, settings: BookSettings) -> bool:
        """Whether the book that the settings name, or none, is what is open already."""
        return self._opened == (settings.file, settings.on_the_fly)

    def open(self, settings: BookSettings) -> None:
        """Open the book that the settings name, if it is not open already.

        Raises:
            BookError: it cannot be read; there is no book then.
        """
        if self.has(settings):
            return
        self._book, self._opened = None, (None, False)
        if settings.file is not None:
            self._book = Book(settings.file, settings.on_the_fly)
        self._opened = settings.file, settings.on_the_fly

    def reply(self, position: Position, settings: BookSettings, only: Sequence[str] = ()) -> BookReply:
        """The book's move for a position.

        Args:
            position: left as it was.
            only: USI moves that are allowed; empty: all. Where another one is chosen, the reply has no move.

        Raises:
            BookError: the file is damaged where the position stands.
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

    def _variation(self, book: Book, position: Position, entry: BookMove, settings: BookSettings) -> tuple[str, ...]:
        """The entry's move and what follows it: the book's first move each time, at its end the expected reply."""
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
        finally:  # also where the book is damaged: the position is the caller's
            for _ in made:
                position.pop()
        return tuple(move_to_usi(move) for move in made)

    def _ponder(self, book: Book, position: Position, entry: BookMove, settings: BookSettings) -> str | None:
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
