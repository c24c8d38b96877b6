"""What was found out about a position by thinking, and the key under which it is kept. Pure.

The unit of thinking is the **reference second**: `REFERENCE_NPS` nodes, searched by the whole fleet. A thought of 20
reference seconds took a fleet of 4 Mn/s five seconds. So thoughts of different machines can be compared.
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
class Thought:
    """The result of a search, as it is kept; for the position as it was given, not its key's."""

    move: str
    """In USI."""
    score: int
    """From the side to move."""
    depth: int
    seconds: float
    """Reference seconds."""
    pv: tuple[str, ...] = ()
    """USI moves from the position on, ``move`` the first."""
    studied: bool = False
    """By method II: thought of again after a lost game. Otherwise thought of in a game (method I)."""

    def flipped(self) -> Thought:
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

    def turn(self, thought: Thought) -> Thought:
        """A thought of the position as one of the key, and the other way round."""
        return thought.flipped() if self.flipped else thought
