"""The turn of a lost game, and what is studied after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from master.book.lessons import (
    UNKNOWN,
    BookSearch,
    Lesson,
    OwnMove,
    StudySettings,
    earlier_lesson,
    find_turn,
    judged,
    plan_lessons,
)
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS


def game(scores: Sequence[int | None], seconds: float = 1.0) -> list[OwnMove]:
    """Own moves at plies 1, 3, 5 …; the positions are names here."""
    own = []
    for index, score in enumerate(scores):
        search = None if score is None else BookSearch("7g7f", score, 8, seconds, ("7g7f",))
        own.append(OwnMove(2 * index + 1, f"position {index}", ("x",) * (2 * index), "7g7f", search, score))
    return own


@pytest.mark.parametrize(
    ("scores", "turn"),
    [
        ([0, 10, -299, -300, -800], 3),
        ([0, -400, 100, -350, -900], 3),  # the first slump was made up for
        ([0, 50, 20], None),
        ([-500, -600], 0),
        ([0, None, None, -700], 3),
        ([0, -400, None, -700], 1),
        ([None, None], None),
        ([], None),
    ],
)
def test_the_turn(scores: Sequence[int | None], turn: int | None) -> None:
    assert find_turn(game(scores), 300) == turn


def plan(own: list[OwnMove], reason: str = "RESIGN", known: dict[str, float] | None = None, **more: float) -> list:
    found = plan_lessons(STARTPOS, own, reason, known or {}, StudySettings(**more))  # type: ignore[arg-type]
    return [(lesson.ply, lesson.seconds) for lesson in found]


def test_pieces_add_up_and_the_move_of_most_of_the_time_is_taken() -> None:
    pieces = (
        BookSearch("2g2f", 10, 12, 3.0, ("2g2f",), studied=True),
        BookSearch("7g7f", -20, 9, 2.0, ("7g7f",), studied=True),
        BookSearch("7g7f", -40, 11, 2.5, ("7g7f", "3c3d"), studied=True),
    )
    lesson = Lesson(STARTPOS, (), STARTPOS, 1, 8.0)
    for piece in pieces:
        lesson = lesson.with_piece(piece)
    assert lesson.with_piece(None).left_seconds == 0.5
    assert lesson.with_piece(pieces[0]).left_seconds == 0.0
    assert judged(lesson.pieces) == replace(pieces[2], seconds=3.0)
    assert judged(()) is None


def test_a_mate_counts_for_more_than_time() -> None:
    long = BookSearch("2g2f", 150, 20, 8.0)
    win, slower = BookSearch("7g7f", mate_in(5), 9, 1.0), BookSearch("7g7f", mate_in(9), 9, 3.0)
    assert judged((long, slower, win)) == win
    lost = BookSearch("2g2f", mated_in(8), 21, 1.0)
    assert judged((long, lost)) == lost


def test_the_moves_before_the_turn_get_twice_the_time() -> None:
    assert plan(game([0, 0, 0, 0, 0, -400, -900])) == [(11, 2.0), (9, 2.0), (7, 2.0), (5, 2.0)]


def test_what_the_book_has_searched_since_counts() -> None:
    own = game([0, 0, -400])
    assert plan(own, known={"position 1": 8.0}) == [(5, 2.0), (3, 16.0), (1, 2.0)]


def test_a_move_out_of_a_file_is_not_searched_again_for_no_time() -> None:
    assert plan(game([None, 0, -400])) == [(5, 2.0), (3, 2.0)]


def test_searched_for_long_enough_the_moves_before_are_taken() -> None:
    own = game([0, 0, 0, -400])
    known = {"position 3": 60.0, "position 2": 40.0}
    assert plan(own, known=known, most_seconds=60.0, moves=2) == [(5, 60.0), (3, 2.0)]


def test_a_position_that_was_bad_already_leads_further_back() -> None:
    lesson = Lesson(STARTPOS, ("7g7f", "3c3d", "2g2f", "8c8d"), "position 2", 5, 2.0)
    before = BookSearch("2g2f", 40, 9, 1.5, ("2g2f",))
    settings = StudySettings()

    def following(score: int, known: BookSearch | None = before) -> Lesson | None:
        return earlier_lesson(lesson, BookSearch("2f2e", score, 10, 2.0), "position 1", known, settings)

    assert following(-300) == Lesson(STARTPOS, ("7g7f", "3c3d"), "position 1", 3, 3.0)
    assert following(-299) is None
    assert following(-900, None) is None
    assert following(-900, replace(before, studied=True)) is None
    assert following(-900, replace(before, seconds=settings.most_seconds)) is None


@pytest.mark.parametrize(("reason", "lessons"), [("RESIGN", 3), ("TIME_UP", 0), ("ILLEGAL_MOVE", 0), (UNKNOWN, 0)])
def test_a_loss_out_of_the_blue(reason: str, lessons: int) -> None:
    assert len(plan(game([0, 0, 20]), reason)) == lessons


def test_time_lost_in_a_lost_position() -> None:
    assert len(plan(game([0, 0, -400]), "TIME_UP")) == 3
