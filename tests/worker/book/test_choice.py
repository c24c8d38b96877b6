"""The choice among a book's moves, and the notes about it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from worker.book import Book, BookError, BookMove, BookPlayer, BookSettings, select
from worker.shogi import STARTPOS, Position

ANY = BookSettings(file=Path("book.db"), depth_limit=0, eval_diff=99_999, eval_limits=(-99_999, -99_999))
MOVES = (
    BookMove("2g2f", "8c8d", 40, 20, 60),
    BookMove("7g7f", "3c3d", 10, 12, 35),
    BookMove("5g5f", None, -150, 30, 5),
)


def chosen(settings: BookSettings, ply: int = 1, turn: int = 0, moves: tuple[BookMove, ...] = MOVES) -> Counter[str]:
    """Count the chosen moves of 400 trials."""
    rng = random.Random(7)
    picks = (select(moves, settings, ply, turn, rng).move for _ in range(400))
    return Counter(pick.move if pick else "none" for pick in picks)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"2g2f", "7g7f", "5g5f"}),
        ({"narrow": True}, {"2g2f", "7g7f"}),
        ({"eval_diff": 0}, {"2g2f"}),
        ({"eval_diff": 30}, {"2g2f", "7g7f"}),
        ({"eval_limits": (11, -99_999)}, {"2g2f"}),
        ({"eval_limits": (41, -99_999)}, {"none"}),
        ({"eval_limits": (-99_999, 99_999)}, {"2g2f", "7g7f", "5g5f"}),
        ({"depth_limit": 20}, {"2g2f", "7g7f", "5g5f"}),
        ({"depth_limit": 21}, {"none"}),
        ({"ignore_percent": 100}, {"none"}),
    ],
)
def test_what_the_options_leave(changes: dict[str, object], expected: set[str]) -> None:
    assert set(chosen(replace(ANY, **changes))) == expected  # type: ignore[arg-type]


def test_the_side_to_move_has_its_own_limit() -> None:
    settings = replace(ANY, eval_limits=(99_999, 0))
    assert set(chosen(settings, turn=0)) == {"none"}
    assert set(chosen(settings, turn=1)) == {"2g2f", "7g7f"}


def test_the_book_ends_after_its_last_move() -> None:
    assert "none" not in chosen(ANY, ply=16)
    assert set(chosen(ANY, ply=17)) == {"none"}


def test_chances() -> None:
    even = chosen(ANY)
    assert all(even[move.move] == pytest.approx(133, abs=35) for move in MOVES)
    by_count = chosen(replace(ANY, by_count=True))
    assert all(by_count[move.move] == pytest.approx(4 * move.count, abs=35) for move in MOVES)
    unplayed = tuple(replace(move, count=0) for move in MOVES)
    assert set(chosen(replace(ANY, by_count=True), moves=unplayed)) == {"2g2f", "7g7f", "5g5f"}
    assert chosen(replace(ANY, ignore_percent=25))["none"] == pytest.approx(100, abs=35)


def test_notes_name_omissions() -> None:
    rng = random.Random(1)
    assert select(MOVES, replace(ANY, narrow=True, eval_diff=0), 1, 0, rng).notes == (
        "NarrowBook: 3 moves to 2",
        "BookEvalDiff 0, BookEvalBlackLimit -99999: 2 moves to 1",
    )
    assert select(MOVES, replace(ANY, depth_limit=21), 1, 0, rng).notes == (
        "BookDepthLimit 21: the book's depth is 20",
    )


class TestPlayer:
    """A player with a small book."""

    AFTER_7G7F = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"
    AFTER_3C3D = "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3"
    TEXT = (
        f"sfen {STARTPOS}\n7g7f none 10 5 9\n7g7e none 0 5 8\n2g2f 8c8d 9 5 7\n"
        f"sfen {AFTER_7G7F}\n3c3d 8h8h 0 5 5\nsfen {AFTER_3C3D}\n2g2f 4c4d 7 5 5\n"
    )

    @pytest.fixture
    def settings(self, tmp_path: Path) -> BookSettings:
        file = tmp_path / "book.db"
        file.write_text(self.TEXT)
        return replace(ANY, file=file, eval_diff=0)

    def player(self, settings: BookSettings) -> BookPlayer:
        player = BookPlayer(random.Random(1))
        player.open(settings)
        return player

    def test_variations_follow_the_book_and_illegal_moves_are_named(self, settings: BookSettings) -> None:
        position = Position.startpos()
        reply = self.player(settings).reply(position, settings)
        assert (reply.move, reply.ponder) == ("7g7f", "3c3d")
        assert [candidate.pv for candidate in reply.candidates] == [("7g7f", "3c3d", "2g2f", "4c4d"), ("2g2f", "8c8d")]
        assert len(reply.notes) == 2
        assert "7g7e is not legal" in reply.notes[0]
        assert position.sfen() == STARTPOS
        short = self.player(settings).reply(position, replace(settings, pv_moves=1))
        assert [candidate.pv for candidate in short.candidates] == [("7g7f",), ("2g2f",)]

    def test_a_book_that_is_damaged_further_on_leaves_the_position_as_it_was(
        self, settings: BookSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        player, position = self.player(settings), Position.startpos()
        find = Book.find

        def damaged(book: Book, sfen: str, any_ply: bool = False) -> list[BookMove]:
            if sfen.endswith(" 2"):
                raise BookError("book.db: line 7: damaged")
            return find(book, sfen, any_ply)

        monkeypatch.setattr(Book, "find", damaged)
        with pytest.raises(BookError, match="line 7"):
            player.reply(position, settings)
        assert position.sfen() == STARTPOS

    def test_an_impossible_reply_is_not_expected(self, settings: BookSettings) -> None:
        position = Position.startpos()
        position.push_usi("7g7f")
        reply = self.player(settings).reply(position, settings)
        assert (reply.move, reply.ponder) == ("3c3d", "2g2f")

    def test_the_other_colour(self, settings: BookSettings) -> None:
        position = Position.from_sfen(STARTPOS.replace(" b ", " w "))
        reply = self.player(settings).reply(position, settings)
        assert (reply.move, reply.ponder) == ("3c3d", "7g7f")
        assert reply.candidates[0].pv == ("3c3d", "7g7f", "8c8d", "6g6f")
        assert self.player(settings).reply(position, replace(settings, flipped=False)).move is None

    def test_another_ply(self, settings: BookSettings) -> None:
        position = Position.from_sfen(STARTPOS.replace(" 1", " 5"))
        assert self.player(settings).reply(position, settings).move is None
        assert self.player(settings).reply(position, replace(settings, any_ply=True)).move == "7g7f"

    def test_only_some_moves(self, settings: BookSettings) -> None:
        player = self.player(settings)
        assert player.reply(Position.startpos(), settings, only=("2g2f", "1g1f")).move is None
        assert player.reply(Position.startpos(), settings, only=("7g7f",)).move == "7g7f"

    def test_no_book(self, settings: BookSettings) -> None:
        player = self.player(settings)
        player.open(BookSettings())
        assert player.reply(Position.startpos(), settings).move is None
        assert self.player(settings).reply(Position.startpos(), BookSettings()).move is None
