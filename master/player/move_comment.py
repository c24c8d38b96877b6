"""The comment that goes out with a move of ours: score and variation, for the server's record and for our own."""

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
class MoveComment:
    """Score, variation and source of a move of ours. Without arguments: nothing was searched."""

    score: int | None = None
    """Black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves, from the opponent's reply on, as far as they are legal."""
    depth: int = 0
    nodes: int = 0
    book: str = ""
    """The book that the move is from; empty: none."""

    @classmethod
    def of(cls, decision: Decision, position: Position, move: int) -> Self:
        """The comment of ``move``, which is about to be made in ``position``, from the search's ``decision``."""
        score, pv = _from_black(position, decision.score), _replies(position, move, decision.move, decision.pv)
        return cls(score, pv, decision.depth, decision.nodes)

    @classmethod
    def of_book(cls, answer: BookAnswer, position: Position, move: int) -> Self:
        """The comment of ``move``, which is about to be made in ``position``, from a book's ``answer``."""
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
    def text(self) -> str:
        """The comment as floodgate wants it: ``'* SCORE PV``; ``'* book`` for a book's move without score; or empty."""
        if self.score is None:
            return "'* book" if self.book else ""
        return " ".join(("'*", str(self.score), *self.pv))


def _from_black(position: Position, score: int | None) -> int | None:
    return score if score is None or position.turn == 0 else -score


def _replies(position: Position, move: int, first: str, line: tuple[str, ...]) -> tuple[str, ...]:
    """The moves of ``line`` behind ``move``, in CSA; none where ``line`` does not begin with it (``first``, in USI)."""
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
