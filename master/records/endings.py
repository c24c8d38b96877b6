"""The words that CSA and KIF have for the end of a game. An end that a format lacks becomes the nearest one it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from master.csa.position import SIGNS


@dataclass(frozen=True, slots=True)
class EndWords:
    csa: str
    """``%TORYO``"""
    kif: str
    """``投了``"""
    kif_summary: str
    """``先手の勝ち``: the words after ``まで57手で``."""
    exact: bool
    """Both words say all of the end; else a comment has to."""


_LOST: Final = {
    "RESIGN": ("%TORYO", "投了", "{winner}の勝ち"),
    "TIME_UP": ("%TIME_UP", "切れ負け", "時間切れにより{winner}の勝ち"),
    "ILLEGAL_MOVE": ("%ILLEGAL_MOVE", "反則負け", "{loser}の反則負け"),
    "MATE": ("%TSUMI", "詰み", "詰み"),
    "DEFAULT": ("%TORYO", "不戦敗", "{winner}の勝ち"),
}
"""The side to move has lost."""
_LIKE: Final = {
    "ILLEGAL_ACTION": "ILLEGAL_MOVE",
    "OUTE_SENNICHITE": "ILLEGAL_MOVE",
    "JISHOGI": "RESIGN",
    "MAX_MOVES": "RESIGN",  # mated by the last move before the limit
    "CRASH": "RESIGN",
}
"""Losses that neither format has a word for, and the nearest that both have."""
_DRAWN: Final = {
    "SENNICHITE": ("%SENNICHITE", "千日手", True),
    "JISHOGI": ("%JISHOGI", "持将棋", True),
    "IMPASSE": ("%JISHOGI", "持将棋", True),
    "DRAW": ("%HIKIWAKE", "持将棋", True),
    "MAX_MOVES": ("%MAX_MOVES", "持将棋", False),
    "NO_MATE": ("%FUZUMI", "不詰", True),
    "CHUDAN": ("%CHUDAN", "中断", True),
}
"""Nobody has won."""

FROM_RSSHOGI: Final = {
    "TIMEOUT": "TIME_UP",
    "WIN_BY_ILLEGAL_MOVE": "ILLEGAL_MOVE",
    "LOSE_BY_ILLEGAL_MOVE": "ILLEGAL_MOVE",
    "WIN_BY_DECLARATION": "JISHOGI",
    "REPETITION_DRAW": "SENNICHITE",
    "INTERRUPT": "CHUDAN",
    "WIN_BY_DEFAULT": "DEFAULT",
    "LOSE_BY_DEFAULT": "DEFAULT",
}
"""rsshogi's kinds of ends in our words; those that it does not hold are called the same."""


def end_words(reason: str, winner: int | None, turn: int, sides: tuple[str, str] = ("先手", "後手")) -> EndWords:
    """The words for an end, whatever it is called.

    Args:
        reason: a word of `master.csa.events.REASONS`, of the tables here, or any other: an interrupted game.
        winner: a colour; None for a draw, and if there is no result.
        turn: the side to move.
        sides: what the sides are called in KIF.
    """
    if winner is None:
        csa, kif, exact = _DRAWN.get(reason, ("%CHUDAN", "中断", False))
        return EndWords(csa, kif, kif, exact)
    if reason not in _LOST and reason not in _LIKE:
        return EndWords("%CHUDAN", "中断", "中断", exact=False)
    loser = 1 - winner
    if reason == "JISHOGI" and winner == turn:
        return EndWords("%KACHI", "入玉勝ち", f"{sides[winner]}の入玉勝ち", exact=True)
    if winner == turn:
        # All that the side to move can win by, but a declaration, is what the opponent has done.
        csa = f"%{SIGNS[loser]}ILLEGAL_ACTION"
        if reason == "DEFAULT":
            return EndWords(csa, "不戦勝", f"{sides[winner]}の勝ち", exact=False)
        return EndWords(csa, "反則勝ち", f"{sides[winner]}の反則勝ち", exact=reason == "ILLEGAL_MOVE")
    csa, kif, summary = _LOST[_LIKE.get(reason, reason)]
    exact = reason in _LOST and reason != "DEFAULT"
    return EndWords(csa, kif, summary.format(winner=sides[winner], loser=sides[loser]), exact)
