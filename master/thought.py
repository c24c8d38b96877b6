"""What is known of a move of ours when it is sent: for the comment that the server records, and for our own record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from cluster.api import Decision
from worker.shogi import MoveError, Position, move_to_csa

LONGEST_PV: Final = 24
"""Moves of a comment: lines stay short of 256 characters."""


@dataclass(frozen=True, slots=True)
class Thought:
    """Without arguments: nothing was searched."""

    score: int | None = None
    """Black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves, from the opponent's reply on, as far as they are legal."""
    depth: int = 0
    nodes: int = 0

    @classmethod
    def of(cls, decision: Decision, position: Position, move: int) -> Self:
        """What ``decision`` says of ``move``, which is about to be made in ``position``."""
        score = decision.score if decision.score is None or position.turn == 0 else -decision.score
        replies = decision.pv[1:] if decision.pv[:1] == (decision.move,) else ()
        return cls(score, _in_csa(position, move, replies[:LONGEST_PV]), decision.depth, decision.nodes)

    @property
    def comment(self) -> str:
        """As floodgate wants it: ``'* SCORE PV``; empty without a score."""
        return "" if self.score is None else " ".join(("'*", str(self.score), *self.pv))


def _in_csa(position: Position, move: int, replies: tuple[str, ...]) -> tuple[str, ...]:
    board = position.copy()
    board.push(move)
    pv: list[str] = []
    for usi in replies:
        try:
            pv.append(move_to_csa(board.push_usi(usi)))
        except MoveError:
            break
    return tuple(pv)
