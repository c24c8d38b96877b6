"""Openings by the rook's file, and candidates by the openings that they lead to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from master.book.opening import Style, StyleWeights, style_of, style_weights
from worker.book import BookMove, BookSettings
from worker.shogi import Position

ANY = BookSettings(any_ply=True, flipped=False)


class Lines:
    """A book of lines from the start, each with a count."""

    def __init__(self, *lines: tuple[str, int]) -> None:
        self._moves: dict[str, dict[str, int]] = {}
        for line, count in lines:
            position = Position.startpos()
            for move in line.split():
                there = self._moves.setdefault(_key(position), {})
                there[move] = there.get(move, 0) + count
                position.push_usi(move)

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        moves = self._moves.get(sfen.rsplit(" ", 1)[0], {})
        return [BookMove(move, count=count) for move, count in sorted(moves.items(), key=lambda item: -item[1])]


def _key(position: Position) -> str:
    return position.sfen().rsplit(" ", 1)[0]


@pytest.mark.parametrize(
    ("moves", "colour", "style"),
    [
        ("", 0, Style.IBISHA),
        ("2h5h", 0, Style.NAKABISHA),
        ("2h6h", 0, Style.SHIKENBISHA),
        ("2h7h", 0, Style.SANKENBISHA),
        ("7g7f 8b5b 8h7g 1c1d 2h8h", 0, Style.MUKAIBISHA),
        ("2h4h", 0, Style.IBISHA),
        ("7g7f 8b4b", 1, Style.SHIKENBISHA),
        ("7g7f 8b4b", 0, Style.IBISHA),
        ("2g2f 3c3d 2f2e 8c8d 2e2d 2c2d 2h2d 8d8e", 0, None),
    ],
)
def test_the_rook_tells(moves: str, colour: int, style: Style | None) -> None:
    position = Position.startpos()
    position.push_all(moves.split())
    assert style_of(position.sfen(), colour) is style


def test_white_as_black_counts() -> None:
    assert style_of("lnsgkgsnl/7r1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 2", 1) is Style.MUKAIBISHA


def weights(book: Lines, wanted: dict[Style, float], *moves: str) -> Sequence[float]:
    position = Position.startpos()
    before = position.sfen()
    found = style_weights(book, position, [BookMove(move) for move in moves], ANY, StyleWeights(wanted))
    assert position.sfen() == before
    return found


def test_where_we_can_choose_the_wanted_opening_counts() -> None:
    book = Lines(("7g7f 3c3d 2g2f", 90), ("7g7f 3c3d 2h6h", 10), ("2g2f 8c8d 2f2e", 50))
    assert weights(book, {Style.IBISHA: 0.0, Style.SHIKENBISHA: 3.0}, "7g7f", "2g2f", "2h5h") == [3.0, 0.0, 1.0]


def test_the_opponents_moves_count_by_their_number() -> None:
    book = Lines(("7g7f 3c3d 2h6h", 30), ("7g7f 8c8d 2g2f", 10))
    assert weights(book, {Style.IBISHA: 0.0, Style.SHIKENBISHA: 4.0}, "7g7f") == [3.0]


def test_indifference() -> None:
    assert StyleWeights({}).indifferent
    assert StyleWeights(dict.fromkeys(Style, 2.0)).indifferent
    assert not StyleWeights({Style.IBISHA: 2.0}).indifferent
