"""The rules of a game around the search: when to declare, resign, wait or play on. Pure.

::

    our turn ─ move limit reached ─► WAIT, for the server's word; without it, on as if there were no limit
        ├ mated ───────────────────► RESIGN
        ├ 27 points ───────────────► DECLARE
        ├ last move before the limit, and a move mates ─► PLAY it
        └ else ────────────────────► SEARCH ─ decision ─► DECLARE, RESIGN, PLAY or DISBELIEVE

**Declaration**: as soon as it is right, because it wins at once; never if it is wrong, because that loses at once;
never if the game summary does not offer it.

**Resignation by score**: after `PlayerSettings.resign_moves` consecutive own moves with a bad score. A move without a
score (a fallback, a forced move) does not count, does not interrupt the sequence, and never leads to a resignation.
Near the move limit, which draws, the player never resigns.

**The move limit** (``Max_Moves``). The tournament server ends the game with the move that reaches the limit, by
``#MAX_MOVES`` and ``#CENSORED``, even if that move mates (tried on the real server). So nobody is to move in that
position. The WCSC's limit is 320 plies since the 29th (rule 27.3, blog.computer-shogi.org/2018/12), before that 256.
When it was introduced for the 25th, the rule was: drawn, unless black stands mated after ply 256, which wins for white,
or a resignation, a declaration or an illegal move has decided the game (blog.computer-shogi.org/2014/12). The text of
the current rule was not found. `PlayerSettings.mate_at_limit` chooses between the two. If a mate by the last move wins,
the search gets a limit that is one ply later, so that it sees the mate; it then also believes that a declaration after
the last move is possible, which is wrong.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from cluster.api import Decision
from master.csa.summary import GameSummary
from master.player.instructions import PlayerSettings
from worker.rules import EnteringKingRule
from worker.score import MATE_BOUND
from worker.shogi import Position, Repetition

PATIENCE_MS: Final = 2000
"""Time that the server has to end a game at its move limit. At most a quarter of the turn, but no less than
`LEAST_PATIENCE_MS`, because the server's line may be on its way."""
LEAST_PATIENCE_MS: Final = 500
_HIGHEST_LIMIT: Final = 100_000
"""A higher move limit counts as none: no game gets that far, and nodes do not receive it."""


class Verdict(enum.Enum):
    DECLARE = "declare"
    RESIGN = "resign"
    WAIT = "wait for the server's word"
    SEARCH = "search"
    PLAY = "play the move"
    DISBELIEVE = "the decision does not hold"


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    move: int = 0
    """The move of `Verdict.PLAY` before a search."""


class Judge:
    """Judges one game, from our side. Plies count the moves made, including those of the start position."""

    def __init__(self, settings: PlayerSettings, summary: GameSummary) -> None:
        self._settings = settings
        self.entering = settings.entering if summary.declaration else EnteringKingRule.NONE
        """The game's rule of declaration."""
        self.max_moves = summary.max_moves
        """The ply at which the game is drawn; None: none, or the server does not enforce it."""
        self.score: int | None = None
        """The score, from our side, of our last move that had one."""
        self._bad_scores = 0

    @property
    def search_limit(self) -> int:
        """The move limit for the search, as `cluster.api.SearchRequest.max_moves`."""
        limit = 0 if self.max_moves is None else self.max_moves + self._settings.mate_at_limit
        return limit if limit <= _HIGHEST_LIMIT else 0

    def at_limit(self, plies: int) -> bool:
        return self.max_moves is not None and plies >= self.max_moves

    def plays_on(self) -> None:
        """The server did not end the game at the move limit."""
        self.max_moves = None

    def before_search(self, position: Position, plies: int) -> Judgement:
        """Judge ``position``, in which we are to move."""
        if self.at_limit(plies):
            return Judgement(Verdict.WAIT)
        if position.is_mated():
            return Judgement(Verdict.RESIGN)
        if self._may_declare(position):
            return Judgement(Verdict.DECLARE)
        if self.at_limit(plies + 1):
            mate = _mating_move(position)
            if mate is not None:  # at worst a draw, like every other move
                return Judgement(Verdict.PLAY, mate)
        return Judgement(Verdict.SEARCH)

    def after_search(self, decision: Decision, position: Position, plies: int) -> Verdict:
        """Judge a decision about ``position``, which has legal moves."""
        bad = False
        if decision.score is not None:
            self.score = decision.score
            bad = self._is_bad(decision.score)
            self._bad_scores = self._bad_scores + 1 if bad else 0
        gives_up = bad and not self._is_near_limit(plies)
        if decision.move == "win":
            return Verdict.DECLARE if self._may_declare(position) else Verdict.DISBELIEVE
        if decision.move == "resign":
            # A legal move exists: to accept this without a score that supports it would throw the game away.
            return Verdict.RESIGN if gives_up else Verdict.DISBELIEVE
        by_score = self._settings.resign_score is not None and self._bad_scores >= self._settings.resign_moves
        return Verdict.RESIGN if gives_up and by_score else Verdict.PLAY

    def ends_with(self, position: Position, plies: int) -> bool:
        """Whether a game that has reached ``position`` is over: by mate, repetition or the move limit."""
        return self.at_limit(plies) or position.is_mated() or position.repetition() is not Repetition.NONE

    def _may_declare(self, position: Position) -> bool:
        return position.can_declare(self.entering.code)

    def _is_bad(self, score: int) -> bool:
        limit = self._settings.resign_score
        return score <= -MATE_BOUND or (limit is not None and score <= -limit)

    def _is_near_limit(self, plies: int) -> bool:
        return self.max_moves is not None and self.max_moves - plies <= self._settings.last_plies


def _mating_move(position: Position) -> int | None:
    """A move after which the opponent has none."""
    board = position.copy()
    for move in board.legal_moves():
        board.push(move)
        mates = board.is_mated()
        board.pop()
        if mates:
            return move
    return None


def patience_ms(hard_ms: float) -> float:
    """Time to wait for the server at the move limit, on a turn that may take ``hard_ms``."""
    return min(PATIENCE_MS, max(hard_ms / 4, LEAST_PATIENCE_MS))
