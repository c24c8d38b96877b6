"""The end of games that are decided before anybody resigns: by the scores that the players report. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Adjudicator:
    """Ends games that both sides see as decided.

    Args:
        resign_cp: centipawns that one side must be ahead; 0: never.
        resign_moves: so many moves of *each* side in a row.
    """

    resign_cp: int
    resign_moves: int
    _runs: list[int] = field(default_factory=lambda: [0, 0])
    """Moves in a row with a decided score, by the side that moved: positive for black, negative for white."""

    def winner(self, turn: int, score: int | None) -> int | None:
        """Take the score of the side that moves; returns the colour that has won, or None. Without a score (the move
        was forced) nothing changes."""
        if not self.resign_cp or score is None:
            return None
        score = -score if turn else score
        run = self._runs[turn]
        if score >= self.resign_cp:
            self._runs[turn] = max(run, 0) + 1
        elif score <= -self.resign_cp:
            self._runs[turn] = min(run, 0) - 1
        else:
            self._runs[turn] = 0
        if min(self._runs) >= self.resign_moves:
            return 0
        return 1 if max(self._runs) <= -self.resign_moves else None


@dataclass(slots=True)
class Resignation:
    """Ends games that one side sees as lost: it resigns, whatever the other side's scores are.

    Args:
        resign_cp: centipawns that it must be behind; 0: never.
        resign_moves: so many of its own moves in a row.
    """

    resign_cp: int
    resign_moves: int
    _runs: list[int] = field(default_factory=lambda: [0, 0])

    def resigns(self, turn: int, score: int | None) -> bool:
        """Take the score of the side that moves; whether it resigns now. Without a score nothing changes."""
        if not self.resign_cp or score is None:
            return False
        self._runs[turn] = self._runs[turn] + 1 if score <= -self.resign_cp else 0
        return self._runs[turn] >= self.resign_moves
