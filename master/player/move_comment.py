"""The comment that goes out with a move of ours: score and variation, for the server's record and for our own."""

from __future__ import annotations

from typing import Final

from cluster.api import Decision
from cluster.split.tree import tells_score
from master.player.events import MoveComment
from master.player.instructions import BookAnswer
from worker.shogi import MoveError, Position, move_to_csa

LONGEST_PV: Final = 24
"""Moves of a comment: lines stay short of 256 characters."""


def comment_on(result: Decision | BookAnswer, position: Position, move: int) -> MoveComment:
    """Make the comment of ``move``, which is about to be made in ``position``, from the search or the book behind
    it. A record has no word for a bound: a score that is only that is left out."""
    score = result.score if result.score is None or position.turn == 0 else -result.score
    if isinstance(result, Decision) and not all(tells_score(line) for line in result.lines[:1]):
        score = None
    pv = _replies(position, move, result.move, result.pv)
    if isinstance(result, BookAnswer):
        return MoveComment(score, pv, result.depth, book=result.source)
    return MoveComment(score, pv, result.depth, result.nodes)


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
