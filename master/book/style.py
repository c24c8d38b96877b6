"""The opening to which a book's candidate leads, and its weight. Pure.

An opening is known by the file of the own rook: at home (or on its right) it is ibisha, swung to the left furibisha of
that file. A candidate is looked at as far as the book goes: where we are to move we can choose, so the most wanted
continuation counts; where the opponent is, their moves count by how often they were played.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.book import BookMove, BookSettings, Lookup, legal_entries
from worker.shogi import Position

_DEPTH: Final = 8
"""Plies of the book that are looked at."""
_OWN_WIDTH: Final = 3
_OTHER_WIDTH: Final = 2
_MOST_POSITIONS: Final = 150
"""Looked up for all candidates of a position together: some 50 ms at most."""


class Style(enum.StrEnum):
    """By the file of the own rook, counted as black counts."""

    IBISHA = "ibisha"
    NAKABISHA = "nakabisha"
    SHIKENBISHA = "shikenbisha"
    SANKENBISHA = "sankenbisha"
    MUKAIBISHA = "mukaibisha"


_BY_FILE: Final = {5: Style.NAKABISHA, 6: Style.SHIKENBISHA, 7: Style.SANKENBISHA, 8: Style.MUKAIBISHA}


def style_of(sfen: str, colour: int) -> Style | None:
    """The opening of ``colour`` (0 black, 1 white) in a position; None where it has not one rook on the board.

    Ninth file and rooks beyond the own half are no opening any more: None.
    """
    rook = "Rr"[colour]
    found: list[tuple[int, int]] = []
    for rank, row in enumerate(sfen.split("/", 8), start=1):
        file, promoted = 9, False
        for sign in row.split(" ")[0]:
            if sign.isdigit():
                file -= int(sign)
            elif sign == "+":
                promoted = True
            else:
                if sign == rook and not promoted:
                    found.append((file, rank))
                file, promoted = file - 1, False
    if len(found) != 1:
        return None
    file, rank = found[0] if colour == 0 else (10 - found[0][0], 10 - found[0][1])
    if rank < 5:
        return None
    return Style.IBISHA if file < 5 else _BY_FILE.get(file)


@dataclass(frozen=True, slots=True)
class StyleWeights:
    """Weights of the openings; 0: never."""

    weights: Mapping[Style, float]

    @property
    def indifferent(self) -> bool:
        """Whether all are wanted alike."""
        return len({self[style] for style in Style}) == 1

    def __getitem__(self, style: Style) -> float:
        return self.weights.get(style, 1.0)


def style_weights(
    book: Lookup, position: Position, candidates: list[BookMove], settings: BookSettings, wanted: StyleWeights
) -> list[float]:
    """The weight of each candidate, by the openings that it leads to. ``position`` is left as it was."""
    walk = _Walk(book, settings, wanted, position.turn)
    # A book says nothing of the side to move: ibisha is a rook that has not been swung by where the book ends.
    return [walk.after(position, entry.move, _DEPTH - 1) for entry in candidates]


class _Walk:
    def __init__(self, book: Lookup, settings: BookSettings, wanted: StyleWeights, colour: int) -> None:
        self._book, self._settings, self._wanted, self._colour = book, settings, wanted, colour
        self._left = _MOST_POSITIONS

    def after(self, position: Position, move: str, depth: int) -> float:
        position.push_usi(move)
        try:
            return self._value(position, depth)
        finally:
            position.pop()

    def _value(self, position: Position, depth: int) -> float:
        style = style_of(position.sfen(), self._colour)
        here = self._wanted[style or Style.IBISHA]
        if style is not Style.IBISHA or depth == 0 or self._left <= 0:
            return here
        self._left -= 1
        entries, _ = legal_entries(self._book, position, self._settings)
        if not entries:
            return here
        if position.turn == self._colour:
            return max(self.after(position, entry.move, depth - 1) for entry in entries[:_OWN_WIDTH])
        likely = entries[:_OTHER_WIDTH]
        counts = [max(1, entry.count) for entry in likely]
        values = [self.after(position, entry.move, depth - 1) for entry in likely]
        return sum(count * value for count, value in zip(counts, values, strict=True)) / sum(counts)
