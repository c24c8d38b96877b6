"""Our side of a game, followed by its events; and the fleet's speed."""

from __future__ import annotations

from cluster.api import Decision
from master.book.lessons import BookSearch, GameNotes, OwnMove, book_search_of
from master.book.service import Speed
from master.csa.summary import GameSummary
from master.player.events import Clocks, GameBegan, MoveComment, MovePlayed, ThinkingBegan
from tests.answers import make_decision
from tests.master.player.table import BLACK, WHITE
from worker.shogi import STARTPOS, Position

CLOCKS = Clocks((1, 1), 0)


def decision(move: str, score: int | None = 30, nodes: int = 500_000, source: str = "split") -> Decision:
    return make_decision(1, move, score, 9, (move,), nodes, 400, source)


class Game:
    def __init__(self, summary: GameSummary) -> None:
        self.notes = GameNotes()
        self.position = Position.startpos()
        self.colour = summary.my_colour
        self.notes.take(GameBegan(summary, STARTPOS, CLOCKS))

    def play(
        self, usi: str, decided: Decision | None = None, score: int | None = None, book: str = ""
    ) -> OwnMove | None:
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
    assert first == OwnMove(1, STARTPOS, (), "7g7f", BookSearch("7g7f", 30, 9, 0.5, ("7g7f",)), 30)
    assert game.play("3c3d") is None
    second = game.play("2g2f", decision("2g2f", -5), score=-5)
    assert second is not None
    assert (second.ply, second.moves, second.sfen.split()[3]) == (3, ("7g7f", "3c3d"), "3")
    assert game.notes.own == [first, second]
    assert (game.notes.name, game.notes.opponent) == BLACK.names


def test_scores_are_ours() -> None:
    game = Game(WHITE)
    game.play("7g7f")
    own = game.play("3c3d", decision("3c3d", -70), score=70)  # from black's view
    assert own is not None
    assert own.known_score == -70
    assert own.search is not None
    assert own.search.score == -70


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


def test_a_game_is_taken_up_where_it_was_kept() -> None:
    game = Game(WHITE)
    for usi, decided, score in (
        ("7g7f", None, None),
        ("3c3d", decision("3c3d", -70), 70),
        ("2g2f", None, None),
        ("8c8d", None, None),
    ):
        game.play(usi, decided, score)
    kept = game.notes
    again = GameNotes.taken_up(kept.start_sfen, kept.name, kept.opponent, kept.colour, kept.moves, kept.own_text())
    assert [(own.ply, own.sfen, own.moves, own.move, own.known_score, own.seconds) for own in again.own] == [
        (own.ply, own.sfen, own.moves, own.move, own.known_score, own.seconds) for own in kept.own
    ]
    assert [own.seconds for own in again.own] == [0.5, 0.0]
    game.notes = again
    assert game.play("2f2e") is None
    last = game.play("8d8e", decision("8d8e", -90), 90)
    assert last is not None
    assert last.moves == ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e")
    assert len(kept.own) == 2


def test_what_is_no_search() -> None:
    assert book_search_of(decision("7g7f", None)) is None
    assert book_search_of(decision("7g7f", nodes=0)) is None
    assert book_search_of(decision("7g7f", source="forced")) is None
    assert book_search_of(decision("7g7f", source="fallback")) is None


def test_speed() -> None:
    speed = Speed()
    assert not speed.searched(1000, 100)
    assert speed.nps is None
    assert speed.searched(1_000_000, 500)
    assert speed.nps == 2e6
    assert speed.searched(1_000_000, 1000)
    assert speed.nps == 1.8e6
