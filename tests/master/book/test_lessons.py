"""The book's entries of a game: searches, notes, lessons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from cluster.api import Decision
from master.book import lessons
from master.book.service import Speed
from master.csa.summary import GameSummary
from master.player.events import Clocks, GameBegan, MoveComment, MovePlayed, ThinkingBegan
from tests.answers import make_decision
from tests.master.player.table import BLACK
from worker.shogi import STARTPOS, Position


def test_a_transposition_has_the_same_key() -> None:
    keys = set()
    for moves in ("7g7f 3c3d 2g2f 8c8d", "2g2f 8c8d 7g7f 3c3d", "7g7f 3c3d 2g2f 8c8d 1g1f 1c1d"):
        position = Position.startpos()
        position.push_all(moves.split())
        keys.add(lessons.PositionKey.of(position.sfen()))
    assert len(keys) == 2


def test_colours_are_one() -> None:
    start = Position.startpos()
    turned = Position.from_sfen(STARTPOS.replace(" b ", " w "))
    assert lessons.PositionKey.of(start.sfen()).text == lessons.PositionKey.of(turned.sfen()).text
    assert (lessons.PositionKey.of(start.sfen()).flipped, lessons.PositionKey.of(turned.sfen()).flipped) == (
        False,
        True,
    )


CLOCKS = Clocks((1, 1), 0)


def decision(move: str, score: int | None = 30, nodes: int = 500_000, source: str = "split") -> Decision:
    return make_decision(1, move, score, 9, (move,), nodes, 400, source)


class Game:
    def __init__(self, summary: GameSummary) -> None:
        self.notes = lessons.GameNotes()
        self.position = Position.startpos()
        self.colour = summary.my_colour
        self.notes.take(GameBegan(summary, STARTPOS, CLOCKS))

    def play(
        self, usi: str, decided: Decision | None = None, score: int | None = None, book: str = ""
    ) -> lessons.OwnMove | None:
        colour = self.position.turn
        mine = colour == self.colour
        ply = self.position.move_number
        if mine and not book:
            self.notes.take(ThinkingBegan(1, ply - 1, 1000, 2000, CLOCKS))
            if decided is not None:
                self.notes.take(decided)
        self.position.push_usi(usi)
        comment = MoveComment(score, book=book)
        return self.notes.take(MovePlayed(ply, colour, mine, usi, "", 1000, self.position.sfen(), CLOCKS, comment))


def test_moves_with_their_history() -> None:
    game = Game(BLACK)
    first = game.play("7g7f", decision("7g7f"), score=30)
    assert first == lessons.OwnMove(1, STARTPOS, (), "7g7f", lessons.BookSearch("7g7f", 30, 9, 0.5, ("7g7f",)), 30)
    assert game.play("3c3d") is None
    second = game.play("2g2f", decision("2g2f", -5), score=-5)
    assert second is not None
    assert (second.ply, second.moves, second.sfen.split()[3]) == (3, ("7g7f", "3c3d"), "3")
    assert game.notes.own == [first, second]
    assert (game.notes.name, game.notes.opponent) == BLACK.names


def test_a_move_that_nothing_decided_on_has_no_search() -> None:
    game = Game(BLACK)
    own = game.play("7g7f", decision("2g2f"))  # the last resort
    assert own is not None
    assert own.search is None
    game.play("3c3d")
    game.play("2g2f", decision("2g2f"))
    game.play("8c8d")
    book = game.play("2f2e", score=12, book="book.db")  # the decision before is not its own
    assert book is not None
    assert (book.search, book.known_score) == (None, 12)


def test_what_is_no_search() -> None:
    assert lessons.book_search_of(decision("7g7f", None)) is None
    assert lessons.book_search_of(decision("7g7f", nodes=0)) is None
    assert lessons.book_search_of(decision("7g7f", source="forced")) is None
    assert lessons.book_search_of(decision("7g7f", source="fallback")) is None


def test_speed() -> None:
    speed = Speed()
    assert not speed.searched(1000, 100)
    assert speed.nps is None
    assert speed.searched(1_000_000, 500)
    assert speed.nps == 2e6
    assert speed.searched(1_000_000, 1000)
    assert speed.nps == 1.8e6


def game(scores: Sequence[int | None], seconds: float = 1.0) -> list[lessons.OwnMove]:
    """Own moves at plies 1, 3, 5 …; the positions are names here."""
    own = []
    for index, score in enumerate(scores):
        search = None if score is None else lessons.BookSearch("7g7f", score, 8, seconds, ("7g7f",))
        own.append(lessons.OwnMove(2 * index + 1, f"position {index}", ("x",) * (2 * index), "7g7f", search, score))
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
    assert lessons.find_turn(game(scores), 300) == turn


def plan(
    own: list[lessons.OwnMove], reason: str = "RESIGN", known: dict[str, float] | None = None, **more: float
) -> list:
    found = lessons.plan_lessons(STARTPOS, own, reason, known or {}, lessons.StudySettings(**more))  # type: ignore[arg-type]
    return [(lesson.ply, lesson.seconds) for lesson in found]


def test_pieces_add_up_and_the_move_of_most_of_the_time_is_taken() -> None:
    pieces = (
        lessons.BookSearch("2g2f", 10, 12, 3.0, ("2g2f",), studied=True),
        lessons.BookSearch("7g7f", -20, 9, 2.0, ("7g7f",), studied=True),
        lessons.BookSearch("7g7f", -40, 11, 2.5, ("7g7f", "3c3d"), studied=True),
    )
    lesson = lessons.Lesson(STARTPOS, (), STARTPOS, 1, 8.0)
    for piece in pieces:
        lesson = lesson.with_piece(piece)
    assert lesson.with_piece(None).left_seconds == 0.5
    assert lesson.with_piece(pieces[0]).left_seconds == 0.0
    assert lessons.judged(lesson.pieces) == replace(pieces[2], seconds=3.0)
    assert lessons.judged(()) is None


def test_the_moves_before_the_turn_get_twice_the_time() -> None:
    assert plan(game([0, 0, 0, 0, 0, -400, -900])) == [(11, 2.0), (9, 2.0), (7, 2.0), (5, 2.0)]


def test_later_searches_of_the_book_count() -> None:
    own = game([0, 0, -400])
    assert plan(own, known={"position 1": 8.0}) == [(5, 2.0), (3, 16.0), (1, 2.0)]


def test_a_move_out_of_a_file_is_not_searched_again_for_no_time() -> None:
    assert plan(game([None, 0, -400])) == [(5, 2.0), (3, 2.0)]


def test_searched_for_long_enough_the_moves_before_are_taken() -> None:
    own = game([0, 0, 0, -400])
    known = {"position 3": 60.0, "position 2": 40.0}
    assert plan(own, known=known, most_seconds=60.0, moves=2) == [(5, 60.0), (3, 2.0)]


def test_a_position_that_was_bad_already_leads_further_back() -> None:
    lesson = lessons.Lesson(STARTPOS, ("7g7f", "3c3d", "2g2f", "8c8d"), "position 2", 5, 2.0)
    before = lessons.BookSearch("2g2f", 40, 9, 1.5, ("2g2f",))
    settings = lessons.StudySettings()

    def following(score: int, known: lessons.BookSearch | None = before) -> lessons.Lesson | None:
        return lessons.earlier_lesson(lesson, lessons.BookSearch("2f2e", score, 10, 2.0), "position 1", known, settings)

    assert following(-300) == lessons.Lesson(STARTPOS, ("7g7f", "3c3d"), "position 1", 3, 3.0)
    assert following(-299) is None
    assert following(-900, None) is None
    assert following(-900, replace(before, studied=True)) is None
    assert following(-900, replace(before, seconds=settings.most_seconds)) is None
