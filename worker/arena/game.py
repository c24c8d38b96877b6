"""One game between two searchers that are asked move by move: the rules that end it, and adjudication. Pure,
except for the searchers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from worker.arena.adjudication import Adjudicator
from worker.shogi import Position, Repetition


@dataclass(frozen=True, slots=True)
class Choice:
    """A searcher's answer: a USI move, ``resign`` or ``win``, and its score (`worker.score`) from its own view."""

    move: str
    score: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A game that is over: the winner's colour (None: a draw), how it ended, and its moves."""

    winner: int | None
    end: str
    moves: tuple[str, ...]


Think = Callable[[int, tuple[str, ...]], Choice]
"""Asks the colour to move (0 black, 1 white) for its move after these."""


def play_game(sfen: str, think: Think, adjudicator: Adjudicator, max_moves: int) -> Outcome:
    """Play from ``sfen`` until the rules or the scores end it.

    Args:
        max_moves: the game is drawn once the position's move number is beyond it.

    Raises:
        worker.shogi.MoveError: a move is not legal.
    """
    position = Position.from_sfen(sfen)
    moves: tuple[str, ...] = ()
    while position.move_number <= max_moves:
        mover = position.turn
        choice = think(mover, moves)
        if choice.move == "resign":
            return Outcome(1 - mover, "mate", moves)
        if choice.move == "win":
            return Outcome(mover, "declaration", moves)
        position.push_usi(choice.move)
        moves = (*moves, choice.move)
        match position.repetition():
            case Repetition.DRAW:
                return Outcome(None, "repetition", moves)
            case Repetition.WIN:
                return Outcome(1 - mover, "perpetual check", moves)
            case Repetition.LOSE:
                return Outcome(mover, "perpetual check", moves)
            case Repetition.NONE:
                pass
        winner = adjudicator.winner(mover, choice.score)
        if winner is not None:
            return Outcome(winner, "score", moves)
    return Outcome(None, "move limit", moves)
