"""One game between two searchers, move by move: the rules and the scores that end it. Pure, except for the
searchers."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from worker.shogi import Position, Repetition


@dataclass(frozen=True, slots=True)
class Choice:
    """A searcher's answer: a USI move or ``resign``, and its score (`worker.score`) from its own view."""

    move: str
    score: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished game: the winner's colour (None: a draw), how it ended, and its moves."""

    winner: int | None
    end: str
    moves: tuple[str, ...]


Think = Callable[[int, tuple[str, ...]], Choice]
"""Asks the colour to move (0 black, 1 white) for its move after these moves."""


class End(enum.StrEnum):
    """Ends of a game by the rules."""

    MATE = "mate"
    DECLARATION = "declaration"
    REPETITION = "repetition"
    PERPETUAL_CHECK = "perpetual check"
    MOVE_LIMIT = "move limit"


def ruled(position: Position, max_moves: int) -> tuple[End, int | None] | None:
    """The end of a game by the rules in this position, before its side is asked for a move, and the winner's colour
    (None: a draw). None: the game continues.

    Args:
        max_moves: the game is drawn if the position's move number exceeds it; a mate comes first.
    """
    mover = position.turn
    match position.repetition():
        case Repetition.DRAW:
            return End.REPETITION, None
        case Repetition.WIN:
            return End.PERPETUAL_CHECK, mover
        case Repetition.LOSE:
            return End.PERPETUAL_CHECK, 1 - mover
    if position.is_mated():
        return End.MATE, 1 - mover
    if position.move_number > max_moves:
        return End.MOVE_LIMIT, None
    return (End.DECLARATION, mover) if position.can_declare() else None


def play_game(sfen: str, think: Think, adjudicator: Adjudicator, max_moves: int) -> Outcome:
    """Play from ``sfen`` until the rules (`ruled`) or the scores end the game, or a side resigns.

    Raises:
        worker.shogi.MoveError: a move is not legal.
    """
    position = Position.from_sfen(sfen)
    moves: tuple[str, ...] = ()
    winner = None
    while (end := ruled(position, max_moves)) is None:
        if winner is not None:
            return Outcome(winner, "score", moves)
        mover = position.turn
        choice = think(mover, moves)
        if choice.move == "resign":
            return Outcome(1 - mover, "resignation", moves)
        position.push_usi(choice.move)
        moves = (*moves, choice.move)
        winner = adjudicator.winner(mover, choice.score)
    return Outcome(end[1], str(end[0]), moves)


@dataclass(slots=True)
class Adjudicator:
    """Ends games that both sides consider decided.

    Args:
        resign_cp: centipawns that one side must be ahead; 0: never.
        resign_moves: this number of consecutive moves of *each* side.
    """

    resign_cp: int
    resign_moves: int
    _runs: list[int] = field(default_factory=lambda: [0, 0])
    """Consecutive moves with a decided score, by the side that moved: positive for black, negative for white."""

    def winner(self, turn: int, score: int | None) -> int | None:
        """Take the score of the side that moves; returns the colour that has won, or None. A move without a score (a
        forced one) changes nothing."""
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
