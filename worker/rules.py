"""The rules of a game that a search must know besides the moves of the pieces."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final

from worker.score import MAX_EVAL


class EnteringKingRule(enum.StrEnum):
    """The rule by which a king in the enemy camp wins, named as in the usual ``EnteringKingRule`` option.

    With an H: for handicap games. White, who gives the handicap, also gets the points of the missing pieces.
    """

    NONE = "NoEnteringKing"
    CSA_24 = "CSARule24"
    CSA_24H = "CSARule24H"
    CSA_27 = "CSARule27"
    CSA_27H = "CSARule27H"
    TRY = "TryRule"

    @property
    def code(self) -> int:
        """The rule's number in compiled code."""
        from worker.shogi import declaration  # not at the top: options name rules before compiled code is loaded

        return {
            EnteringKingRule.NONE: declaration.NO_RULE,
            EnteringKingRule.CSA_24: declaration.CSA_24,
            EnteringKingRule.CSA_24H: declaration.CSA_24H,
            EnteringKingRule.CSA_27: declaration.CSA_27,
            EnteringKingRule.CSA_27H: declaration.CSA_27H,
            EnteringKingRule.TRY: declaration.TRY_RULE,
        }[self]


DECLARATIONS: Final = tuple(rule for rule in EnteringKingRule if rule is not EnteringKingRule.TRY)
"""The rules by which a side declares its win, and no rule. A try is a move and not a declaration."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that end a game, and the values of a draw.

    Raises:
        ValueError: a number is out of range.
    """

    entering: EnteringKingRule = EnteringKingRule.CSA_27
    max_moves: int = 0
    """The number of moves after which the game is drawn; 0: never."""
    draw_black: int = 0
    """The value of a draw for black if black is to move at the root, in centipawns. USI: ``DrawValueBlack``."""
    draw_white: int = 0
    every_move: bool = False
    """Search declined promotions of pawn, bishop and rook too (``GenerateAllLegalMoves``)."""

    def __post_init__(self) -> None:
        if self.max_moves < 0:
            raise ValueError(f"max_moves is {self.max_moves}: expected 0 or more")
        for name in ("draw_black", "draw_white"):
            if abs(getattr(self, name)) >= MAX_EVAL:
                raise ValueError(f"{name} is {getattr(self, name)}: expected less than {MAX_EVAL} either way")

    def of_search(self, max_moves: int, draw_black: int, draw_white: int, entering: EnteringKingRule) -> Rules:
        """These rules with the values that one search of a fleet has for its game.

        Raises:
            ValueError: a number is out of range.
        """
        return replace(self, entering=entering, max_moves=max_moves, draw_black=draw_black, draw_white=draw_white)

    def plies_left(self, move_number: int) -> int | None:
        """Plies, 1 or more, until `max_moves` ends the game whose next move has this number; None: there is no
        limit."""
        return max(1, self.max_moves - (move_number - 1)) if self.max_moves else None

    def draw_values(self, root_turn: int) -> tuple[int, int]:
        """A draw's value by the colour to move in the tree, if ``root_turn`` is to move at the root."""
        own = self.draw_black if root_turn == 0 else self.draw_white
        return (own, -own) if root_turn == 0 else (-own, own)
