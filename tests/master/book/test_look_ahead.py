"""Candidates by what the opponent's replies leave of them."""

from __future__ import annotations

import pytest

from master.book.opening import LookAhead, look_ahead
from worker.book import BookMove, BookSettings
from worker.shogi import Position

ANY = BookSettings(any_ply=True, flipped=False)
CANDIDATES = [BookMove("7g7f", value=50, count=60), BookMove("2g2f", value=40, count=30), BookMove("5g5f", value=10)]


class Replies:
    """The opponent's replies to 7g7f and 2g2f."""

    def __init__(self) -> None:
        self._entries = {}
        for move, replies in {
            "7g7f": [BookMove("3c3d", value=-45, count=80), BookMove("8c8d", value=90, count=15)],
            "2g2f": [BookMove("8c8d", value=-30, count=70), BookMove("3c3d", value=300, count=2)],
        }.items():
            position = Position.startpos()
            position.push_usi(move)
            self._entries[position.sfen()] = replies

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        return self._entries.get(sfen, [])


@pytest.mark.parametrize(
    ("how", "values"),
    [
        (LookAhead.OFF, [50, 40, 10]),
        (LookAhead.LIKELY, [45, 30, 10]),
        (LookAhead.WORST, [-90, 30, 10]),  # two games in 72 are no reply to reckon with
    ],
)
def test_values(how: LookAhead, values: list[int]) -> None:
    position = Position.startpos()
    found = look_ahead(Replies(), position, CANDIDATES, ANY, how)
    assert [entry.value for entry in found] == values
    assert [entry.move for entry in found] == ["7g7f", "2g2f", "5g5f"]
    assert position.move_number == 1


def test_the_reply_is_what_is_expected() -> None:
    found = look_ahead(Replies(), Position.startpos(), CANDIDATES, ANY, LookAhead.WORST)
    assert [entry.ponder for entry in found] == ["8c8d", "8c8d", None]
