"""What is known of a move of ours when it is sent: for the comment that the server records, and for our own record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from cluster.api import Decision
from master.csa.events import MoveMade
from master.player.events import Clocks, MovePlayed
from master.player.instructions import BookAnswer
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
    book: str = ""
    """Which book the move is from."""

    @classmethod
    def of(cls, decision: Decision, position: Position, move: int) -> Self:
        """What ``decision`` says of ``move``, which is about to be made in ``position``."""
        score, pv = _from_black(position, decision.score), _replies(position, move, decision.move, decision.pv)
        return cls(score, pv, decision.depth, decision.nodes)

    @classmethod
    def of_book(cls, answer: BookAnswer, position: Position, move: int) -> Self:
        """What a book says of ``move``, which is about to be made in ``position``."""
        score, pv = _from_black(position, answer.score), _replies(position, move, answer.move, answer.pv)
        return cls(score, pv, answer.depth, book=answer.source)

    def played(self, made: MoveMade, moves: tuple[str, ...], sfen: str, clocks: Clocks) -> MovePlayed:
        """The event of the move that the server has confirmed, the last of ``moves`` (USI); ``sfen`` is behind it."""
        return MovePlayed(
            ply=len(moves),
            colour=made.colour,
            mine=made.mine,
            usi=moves[-1],
            csa=made.csa,
            consumed_ms=made.consumed_ms,
            sfen=sfen,
            clocks=clocks,
            score=self.score,
            pv=self.pv,
            depth=self.depth,
            nodes=self.nodes,
            book=self.book,
        )

    @property
    def comment(self) -> str:
        """As floodgate wants it: ``'* SCORE PV``; ``'* book`` for a book's move without a score, else empty."""
        if self.score is None:
            return "'* book" if self.book else ""
        return " ".join(("'*", str(self.score), *self.pv))


def _from_black(position: Position, score: int | None) -> int | None:
    return score if score is None or position.turn == 0 else -score


def _replies(position: Position, move: int, first: str, line: tuple[str, ...]) -> tuple[str, ...]:
    """What follows ``move``, whose name is ``first``, in ``line``."""
    replies = line[1 : LONGEST_PV + 1] if line[:1] == (first,) else ()
    board = position.copy()
    board.push(move)
    pv: list[str] = []
    for usi in replies:
        try:
            pv.append(move_to_csa(board.push_usi(usi)))
        except MoveError:
            break
    return tuple(pv)
