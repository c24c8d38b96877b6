"""The player's answer from its books: a move, or none. Reads files and the learned book, in a thread of its own.

The learned book comes first (`master.book.learned`), if its search was longer than the search that could start now;
then the books, in their order. A book move that would repeat a position of the game is never played: the search decides
whether a repetition is wanted.
"""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from master.book.learned import LearnedBook
from master.book.lessons import reference_seconds
from master.player.instructions import AskBook, BookAnswer
from worker.book import BookMove, BookSettings, Lookup, eligible, legal_entries, open_file
from worker.shogi import MoveError, Position
from worker.shogi.position import Replay

_LIKELY_SHARE: Final = 0.1
"""A reply played in less than this share of the games is ignored, unless all replies are."""


class LookAhead(enum.StrEnum):
    OFF = "off"
    WORST = "worst"
    """The opponent plays the best reply."""
    LIKELY = "likely"
    """The opponent plays the most played reply."""


def look_ahead(
    book: Lookup, position: Position, candidates: Sequence[BookMove], settings: BookSettings, how: LookAhead
) -> list[BookMove]:
    """The candidates, in order, with the value after the opponent's reply; ``position`` is unchanged.

    If the book knows no reply, a candidate keeps its value. So does one that ends the game, because the book's author
    knew the result.
    """
    if how is LookAhead.OFF:
        return list(candidates)
    return [_judged(book, position, entry, settings, how) for entry in candidates]


def _judged(book: Lookup, position: Position, entry: BookMove, settings: BookSettings, how: LookAhead) -> BookMove:
    position.push_usi(entry.move)
    try:
        replies, _ = legal_entries(book, position, settings)
    finally:
        position.pop()
    if not replies:
        return entry
    if how is LookAhead.LIKELY:
        reply = replies[0]
    else:
        games = max(1, sum(reply.count for reply in replies))
        likely = [reply for reply in replies if reply.count / games >= _LIKELY_SHARE] or replies
        reply = max(likely, key=lambda reply: reply.value)
    return replace(entry, value=-reply.value, ponder=reply.move)


LEARNED: Final = "learned"
"""The source of a move that the player found itself."""


@dataclass(frozen=True, slots=True)
class OpeningSettings:
    """The books, and the rules by which a move is chosen from them."""

    files: tuple[Path, ...] = ()
    """Book files; the first with a move for the position is used."""
    choice: BookSettings = field(default_factory=BookSettings)
    """YaneuraOu's options. ``file`` is ignored."""
    look_ahead: LookAhead = LookAhead.WORST
    search_nodes: int | None = None
    """Node limit of a search of the whole fleet, if searches are limited by nodes (reproducible games)."""


class OpeningBook:
    """The open books of a player. All calls must come from one thread. Raises BookError: a file cannot be read."""

    def __init__(
        self, settings: OpeningSettings, learned: LearnedBook | None = None, rng: random.Random | None = None
    ) -> None:
        self._settings = settings
        self._learned = learned
        self._rng = rng or random.Random()
        self._replay = Replay()
        self._books: list[tuple[str, Lookup]] = [
            (path.name, open_file(path, settings.choice.on_the_fly)) for path in settings.files
        ]
        if learned is not None:
            self._books.append(("imported", learned))

    def reply(self, question: AskBook, nps: float | None) -> BookAnswer | None:
        """The book's move, None for none.

        Args:
                nps: the fleet's speed in nodes per second; None if unknown: the learned book is not used then.

        Raises:
            BookError: a file, or the learned book, is damaged at the position.
        """
        position = self._replay.position(question.sfen, question.moves)
        return self._from_learned(position, question.soft_ms, nps) or self._from_books(position)

    def _from_learned(self, position: Position, soft_ms: int, nps: float | None) -> BookAnswer | None:
        search = None if self._learned is None else self._learned.search_of(position.sfen())
        if search is None or search.seconds <= self._search_seconds(soft_ms, nps):
            return None
        if not _legal(position, search.move) or _repeats(position, search.move):
            return None
        return BookAnswer(search.move, LEARNED, search.score, search.depth, search.pv)

    def _search_seconds(self, soft_ms: int, nps: float | None) -> float:
        """The length of a search that could start now, in reference seconds; inf if unknown."""
        if self._settings.search_nodes is not None:
            return reference_seconds(self._settings.search_nodes)
        return math.inf if nps is None else reference_seconds(soft_ms / 1000 * nps)

    def _from_books(self, position: Position) -> BookAnswer | None:
        for name, book in self._books:
            chosen = self._choose(book, position)
            if chosen is not None:
                pv = (chosen.move,) if chosen.ponder is None else (chosen.move, chosen.ponder)
                return BookAnswer(chosen.move, name, chosen.value if chosen.depth else None, chosen.depth, pv)
        return None

    def _choose(self, book: Lookup, position: Position) -> BookMove | None:
        settings = self._settings
        if position.move_number > settings.choice.last_ply:
            return None
        entries, _ = legal_entries(book, position, settings.choice)
        entries = [entry for entry in entries if not _repeats(position, entry.move)]
        if not entries:
            return None
        if settings.look_ahead is not LookAhead.OFF:
            # The others are compared with the first one: here the best, not the most played.
            entries = look_ahead(book, position, entries, settings.choice, settings.look_ahead)
            entries.sort(key=lambda entry: -entry.value)
        left, _ = eligible(entries, settings.choice, position.move_number, position.turn, self._rng)
        if not left:
            return None
        counts = [entry.count if settings.choice.by_count else 1 for entry in left]
        return self._rng.choices(left, counts if any(counts) else None)[0]


def _legal(position: Position, move: str) -> bool:
    try:
        position.parse_usi(move)
    except MoveError:
        return False
    return True


def _repeats(position: Position, move: str) -> bool:
    """Whether the position after a legal move has occurred in the game before."""
    position.push_usi(move)
    again = position.occurrences() > 1
    position.pop()
    return again
