"""The result of a search as the book keeps it, and the key of its position. Pure.

The unit of search is the **reference second**: `REFERENCE_NPS` nodes, searched by the whole fleet. A search of 20
reference seconds took a fleet of 4 Mn/s five seconds. So searches of different machines can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from worker.book.format import flip_key, flip_move, split_sfen

REFERENCE_NPS: Final = 1_000_000
"""Nodes of a reference second."""


def reference_seconds(nodes: float) -> float:
    """``nodes`` of the whole fleet in reference seconds."""
    return nodes / REFERENCE_NPS


@dataclass(frozen=True, slots=True)
class BookSearch:
    """The result of a search as the book keeps it; for the position as it was given, not its key's."""

    move: str
    """In USI."""
    score: int
    """Score from the side to move."""
    depth: int
    seconds: float
    """Reference seconds."""
    pv: tuple[str, ...] = ()
    """USI moves from the position on, ``move`` the first."""
    studied: bool = False
    """Made by method II, after a lost game; otherwise by method I, in a game."""

    def flipped(self) -> BookSearch:
        """The same on the board turned around, with the colours swapped."""
        return replace(self, move=flip_move(self.move), pv=tuple(flip_move(move) for move in self.pv))


@dataclass(frozen=True, slots=True)
class PositionKey:
    """A position without its ply, with black to move: what two sides and all ways to a position have in common."""

    text: str
    """Board, side and hands as in SFEN."""
    flipped: bool
    """Whether it is the position turned around."""

    @classmethod
    def of(cls, sfen: str) -> PositionKey:
        """The key of a position, given as SFEN with a ply."""
        key, _ = split_sfen(sfen)
        flipped = key.split()[1] == "w"
        return cls(flip_key(key) if flipped else key, flipped)

    def turn(self, search: BookSearch) -> BookSearch:
        """Turn a search of the position into one of the key, or back."""
        return search.flipped() if self.flipped else search
