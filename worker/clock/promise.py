"""The score of our last move, as long as the same game goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MOST_PLIES: Final = 4
"""A score from longer ago promises nothing."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A search's score, and the position that it is of: a start and the moves since. Without arguments: none."""

    sfen: str = ""
    moves: tuple[str, ...] = ()
    score: int = 0

    def at(self, sfen: str, moves: tuple[str, ...]) -> int | None:
        """The score promised to the side to move after ``moves``; None: this is not the same game some plies on."""
        plies = len(moves) - len(self.moves)
        if sfen != self.sfen or moves[: len(self.moves)] != self.moves or not 0 < plies <= _MOST_PLIES:
            return None
        return -self.score if plies % 2 else self.score
