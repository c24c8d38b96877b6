"""A book's candidates judged two plies ahead: by what the opponent has in the same book (the idea of ArgoCorse). Pure.

A candidate's own value is what it was worth when it was entered. The opponent's replies may be known better: where one
of them is good for the opponent the candidate is not what it seems.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from worker.book import BookMove, BookSettings, Lookup, legal_entries
from worker.shogi import Position

_LIKELY_SHARE: Final = 0.1
"""A reply that was played in less than this share of the games is no reply to reckon with, unless all are."""


class LookAhead(enum.StrEnum):
    OFF = "off"
    WORST = "worst"
    """The opponent has the best reply."""
    LIKELY = "likely"
    """The opponent has the reply that was played most."""


def look_ahead(
    book: Lookup, position: Position, candidates: Sequence[BookMove], settings: BookSettings, how: LookAhead
) -> list[BookMove]:
    """The candidates, in their order, with the value that the opponent's reply leaves them; ``position`` stays.

    Where the book knows no reply a candidate keeps its value. One that ends the game keeps it too: the book's maker
    knew.
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
