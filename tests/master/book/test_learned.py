"""The book that learns: stored entries come back, for either colour, after any crash."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from master.book.dbfile import write_positions
from master.book.learned import FinishedGame, LearnedBook
from master.book.lessons import BookSearch, Lesson, OwnMove
from worker.book import BookError, BookMove
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS, Position

TURNED = STARTPOS.replace(" b - 1", " w - 2")
SEARCH = BookSearch("7g7f", 35, 12, 2.5, ("7g7f", "3c3d"))


def lesson(*moves: str, seconds: float = 2.0) -> Lesson:
    position = Position.startpos()
    position.push_all(moves)
    return Lesson(STARTPOS, moves, position.sfen(), len(moves) + 1, seconds)


def test_the_longer_search_stays(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        assert book.keep(STARTPOS, SEARCH)
        assert not book.keep(STARTPOS, BookSearch("2g2f", 0, 5, 1.0))
        assert book.keep(TURNED, BookSearch("8c8d", -5, 14, 5.0, ("8c8d",), studied=True))
        assert book.search_of(STARTPOS) == BookSearch("2g2f", -5, 14, 5.0, ("2g2f",), studied=True)


def test_a_mate_takes_the_place_of_a_longer_search(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        book.keep(STARTPOS, replace(SEARCH, seconds=60.0))
        assert book.keep(STARTPOS, replace(SEARCH, score=mated_in(4), seconds=1.0))
        assert not book.keep(STARTPOS, replace(SEARCH, score=mate_in(5), seconds=0.5))
        assert book.keep(STARTPOS, replace(SEARCH, seconds=2.0))


def test_lessons_come_latest_game_first_nearest_the_turn_first(tmp_path: Path) -> None:
    game = FinishedGame("a", "b", 0, "LOSE", "RESIGN", (OwnMove(1, STARTPOS, (), "7g7f", SEARCH, 35),))
    first, second, third = lesson(), lesson("7g7f", "3c3d"), lesson("2g2f", "8c8d")
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        book.add_game(game, [first, second])
        book.add_game(game, [third])
        assert book.next_lesson() == third
        book.finish_lesson(third, None)
        assert book.next_lesson() == first
        again = Lesson(first.start_sfen, first.moves, first.sfen, first.ply, 4.0)
        book.add_game(game, [again])  # the same position once more
        assert book.next_lesson() == again
        book.finish_lesson(again, SEARCH)
        assert book.search_of(STARTPOS) == SEARCH
        assert book.next_lesson() == second
        stats = book.stats()
        assert (stats.lessons, stats.games, stats.searches) == (1, {"LOSE": 3}, 1)


def test_the_pieces_of_a_lesson_stay_with_it(tmp_path: Path) -> None:
    turned = replace(lesson(), start_sfen=TURNED, sfen=TURNED)
    pieces = tuple(BookSearch("8c8d", -5, depth, depth / 4, ("8c8d",), studied=True) for depth in (8, 12))
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), [turned])
        for piece in pieces:
            book.add_piece(turned, piece)
        assert book.search_of(TURNED) == pieces[1]
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        found = book.next_lesson()
        assert found == replace(turned, pieces=pieces)
        book.finish_lesson(found, replace(pieces[1], seconds=5.0))
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), [turned])
        assert book.next_lesson() == turned


def test_what_comes_of_a_lesson_is_after_the_others_of_its_game(tmp_path: Path) -> None:
    game = FinishedGame("a", "b", 0, "LOSE", "RESIGN")
    older, near, far, further = lesson("9g9f", "9c9d"), lesson("7g7f", "3c3d"), lesson("2g2f", "8c8d"), lesson()
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        book.add_game(game, [older])
        book.add_game(game, [near, far])
        book.finish_lesson(near, None, following=far)  # it is in the queue
        assert book.next_lesson() == far
        book.finish_lesson(far, None, following=further)
        assert book.next_lesson() == further
        book.finish_lesson(further, None)
        assert book.next_lesson() == older


def test_nothing_is_lost_if_the_process_dies(tmp_path: Path) -> None:
    path, later = tmp_path / "learned.sqlite", tmp_path / "later.sqlite"
    with LearnedBook(path) as book:
        book.keep(STARTPOS, SEARCH)
        book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN"), [lesson()])
        for suffix in ("", "-wal"):  # the disk's content while the book is open
            shutil.copy(f"{path}{suffix}", f"{later}{suffix}")
    with LearnedBook(later) as book:
        assert book.search_of(STARTPOS) == SEARCH
        assert book.next_lesson() == lesson()


def test_half_a_game_is_no_game(tmp_path: Path) -> None:
    broken = OwnMove(1, "no sfen", (), "7g7f", None)
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        with pytest.raises(ValueError, match="not enough values"):
            book.add_game(FinishedGame("a", "b", 0, "LOSE", "RESIGN", (broken,)), [lesson()])
        assert book.stats().games == {}
        assert book.next_lesson() is None


def test_one_writes_any_number_read(tmp_path: Path) -> None:
    path = tmp_path / "learned.sqlite"
    with LearnedBook(path) as book:
        book.keep(STARTPOS, SEARCH)
        with pytest.raises(BookError, match=r"process \d+ writes it; one at a time can"):
            LearnedBook(path)
        with LearnedBook(path, write=False) as reader:
            assert reader.search_of(STARTPOS) == SEARCH
            with pytest.raises(BookError, match="readonly"):
                reader.keep(STARTPOS, BookSearch("2g2f", 0, 1, 99.0))
    LearnedBook(path).close()


def test_imported_candidates_are_a_book(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        positions = [(TURNED, [BookMove("8c8d", "2g2f", -20, 0, 3), BookMove("3c3d", None, -10, 0, 9)])]
        assert book.import_moves(positions) == (1, 2)
        assert [entry.move for entry in book.find(TURNED)] == ["3c3d", "8c8d"]
        assert book.find(STARTPOS)[1] == BookMove("2g2f", "8c8d", -20, 0, 3)
        book.import_moves([(STARTPOS, [BookMove("2g2f", None, 5, 0, 20)])])
        assert [(entry.move, entry.count) for entry in book.find(STARTPOS)] == [("2g2f", 20), ("7g7f", 9)]


def test_counts_of_a_position_and_its_turned_twin_add_up(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        for _ in range(2):  # the second import replaces the first
            black = (STARTPOS, [BookMove("7g7f", None, 40, 3, 5), BookMove("2g2f", None, 1, 0, 2)])
            white = (TURNED, [BookMove("3c3d", "2g2f", 60, 4, 9)])
            assert book.import_moves([black, white]) == (2, 3)
            assert book.find(STARTPOS) == [BookMove("7g7f", "8c8d", 60, 4, 14), BookMove("2g2f", None, 1, 0, 2)]


def test_a_later_import_keeps_the_deeper_line_and_a_known_reply(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        for line in (BookMove("7g7f", None, 40, 20, 5), BookMove("7g7f", "3c3d", -5, 3, 7)):
            book.import_moves([(STARTPOS, [line])])
        assert book.find(STARTPOS) == [BookMove("7g7f", "3c3d", 40, 20, 7)]
        book.import_moves([(STARTPOS, [BookMove("7g7f", None, 1, 21, 2)])])
        assert book.find(STARTPOS) == [BookMove("7g7f", "3c3d", 1, 21, 2)]
        twin = [(STARTPOS, [BookMove("7g7f", None, 9, 22, 1)]), (TURNED, [BookMove("3c3d", None, 8, 4, 90)])]
        book.import_moves(twin)
        assert book.find(STARTPOS) == [BookMove("7g7f", "3c3d", 9, 22, 91)], "the deeper line, not the more played"


def test_a_book_file_does_not_take_the_place_of_a_book_that_learns(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    with LearnedBook(path) as book:
        book.keep(STARTPOS, SEARCH)
        with pytest.raises(BookError, match="a book that learns is there"):
            write_positions(path, book.export())
    with LearnedBook(path, write=False) as book:
        assert book.search_of(STARTPOS) is not None


def test_export_is_in_order_with_searches_first(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as book:
        book.import_moves([(STARTPOS, [BookMove("2g2f", None, 10, 0, 8), BookMove("7g7f", None, 0, 0, 7)])])
        book.keep(STARTPOS, SEARCH)
        other = lesson("7g7f").sfen
        book.keep(other, BookSearch("3c3d", -30, 9, 1.0, ("3c3d", "2g2f")))
        exported = {tuple(sfen.rsplit(" ", 1)): [move.entry for move in moves] for sfen, moves in book.export()}
    assert list(exported) == sorted(exported)
    assert exported[STARTPOS.removesuffix(" 1"), "1"] == [
        BookMove("7g7f", "3c3d", 35, 12, 9),  # readers go by the count
        BookMove("2g2f", None, 10, 0, 8),
    ]
    assert all(int(ply) % 2 == 1 for _, ply in exported)
    assert len(exported) == 2
