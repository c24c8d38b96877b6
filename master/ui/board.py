"""The board and the hands as text, as KIF files draw them: every cell is one mark and one kanji, three columns wide."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from master.records.notation import COUNTS, FILES, HAND_ORDER, PIECES, RANKS, SIDES
from master.ui.console import Console
from worker.shogi import Position
from worker.text import in_ascii, shows_kanji

BOARD_COLUMNS: Final = 31
"""Width of the board in terminal columns."""
_STYLES: Final = ("", "cyan")
_LAST_MOVE: Final = "reverse"


def board_text(position: Position, last_square: int | None = None, kanji: bool = True) -> Text:
    """The board, black below; white's pieces carry a ``v``, the last move's square is marked. ``kanji``: whether the
    terminal has them; otherwise pieces are letters of the same width."""
    files = reversed(FILES) if kanji else (f"{9 - index} " for index in range(9))
    text = Text(" " + "".join(f" {file}" for file in files) + "\n")
    text.append("+" + "-" * 27 + "+\n")
    for rank in range(9):
        text.append("|")
        for file in range(8, -1, -1):
            square = file * 9 + rank
            piece = position.piece_on(square)
            colour = piece >> 4
            if kanji:
                cell = ("v" if colour else " ") + PIECES[piece & 15] if piece else " ・"
            else:
                cell = ("v" if colour else " ") + in_ascii(PIECES[piece & 15]).rjust(2) if piece else "  ."
            style = _STYLES[colour] if piece else "dim"
            text.append(cell, style=f"{style} {_LAST_MOVE}".strip() if square == last_square else style)
        text.append("|" + (RANKS[rank] if kanji else str(rank + 1)) + "\n")
    text.append("+" + "-" * 27 + "+")
    return text


def hand_text(position: Position, colour: int, kanji: bool = True) -> str:
    """``☖ 飛 歩三``, or ``☖ -`` for an empty hand; without kanji ``- R P3``."""
    hand = position.hand(colour)
    held = [
        PIECES[kind] + COUNTS[hand[kind]] if kanji else in_ascii(PIECES[kind]) + str(hand[kind]) * (hand[kind] > 1)
        for kind in HAND_ORDER
        if hand[kind]
    ]
    return f"{SIDES[colour] if kanji else in_ascii(SIDES[colour])} {' '.join(held) or '-'}"


def print_board(console: Console, position: Position) -> None:
    """The board with both hands, and the position as text."""
    kanji = shows_kanji(console.encoding)
    console.print(hand_text(position, 1, kanji))
    console.print(board_text(position, kanji=kanji))
    console.print(hand_text(position, 0, kanji))
    console.print(f"sfen {position.sfen()}\n")
