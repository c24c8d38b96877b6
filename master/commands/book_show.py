"""Output of ``gougi book show``: a board, and tables of candidates."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from master.book.searches import BookSearch
from master.records.notation import move_text, pv_text, score_text
from master.ui.board import board_text, hand_text
from master.ui.console import Console
from worker.book import BookMove
from worker.shogi import Position
from worker.text import shows_kanji


def print_board(console: Console, position: Position) -> None:
    """The board with both hands, and the position as text."""
    kanji = shows_kanji(console.encoding)
    console.print(hand_text(position, 1, kanji))
    console.print(board_text(position, kanji=kanji))
    console.print(hand_text(position, 0, kanji))
    console.print(f"sfen {position.sfen()}\n")


def print_search(console: Console, name: str, position: Position, search: BookSearch | None) -> None:
    """Print what the learned book has about the position."""
    if search is None:
        console.print(f"{name}: this position was not searched")
        return
    how = "studied after a lost game" if search.studied else "played"
    console.print(
        f"{name}: {pv_text(position.sfen(), search.pv or (search.move,))}  {score_text(search.score)}"
        f"  depth {search.depth}, {search.seconds:.2f} reference seconds, {how}",
        soft_wrap=True,
    )


def print_candidates(console: Console, name: str, position: Position, entries: Sequence[BookMove]) -> None:
    """A book's candidates; values are from the side to move, as in the file."""
    if not entries:
        console.print(f"{name}: no candidates")
        return
    table = Table(title=name, title_justify="left", box=None, pad_edge=False)
    for column in ("move", "usi", "reply"):
        table.add_column(column)
    for column in ("value", "depth", "count"):
        table.add_column(column, justify="right")
    for entry in entries:
        move = move_text(position, position.parse_usi(entry.move))
        numbers = map(str, (entry.value, entry.depth, entry.count))
        table.add_row(move, entry.move, entry.ponder or "", *numbers)
    console.print(table)
