"""Games between two searchers: the rules and the scores that end them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lab.match.game import Adjudicator, Choice, Outcome, play_game
from worker.shogi import STARTPOS, MoveError


def play(moves: Sequence[str], scores: Sequence[int | None] = (), max_moves: int = 320) -> Outcome:
    """A game with these moves, in turn; the scores are from the mover's view."""
    asked: list[int] = []

    def think(mover: int, before: tuple[str, ...]) -> Choice:
        assert list(before) == list(moves[: len(before)])
        asked.append(mover)
        return Choice(moves[len(before)], scores[len(before)] if scores else None)

    outcome = play_game(STARTPOS, think, Adjudicator(1000, 2), max_moves)
    assert asked == [ply % 2 for ply in range(len(asked))]
    return outcome


def test_a_side_that_resigns_has_lost() -> None:
    assert play(["7g7f", "resign"]) == Outcome(0, "resignation", ("7g7f",))


def test_the_rules_end_it_before_anybody_is_asked() -> None:
    def ask_nobody(_mover: int, _moves: tuple[str, ...]) -> Choice:
        raise AssertionError

    mated = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - {}"
    assert play_game(mated.format(7), ask_nobody, Adjudicator(0, 1), 320) == Outcome(0, "mate", ())
    assert play_game(mated.format(7), ask_nobody, Adjudicator(0, 1), 3).end == "mate", "it comes before the limit"
    entered = "K8/PPPPPPPPP/R1R1B4/9/9/9/9/9/8k b B4G4S4N4L 100"
    assert play_game(entered, ask_nobody, Adjudicator(0, 1), 320) == Outcome(0, "declaration", ())


def test_the_fourth_time_is_a_draw() -> None:
    there_and_back = ["2h3h", "8b7b", "3h2h", "7b8b"]
    outcome = play(there_and_back * 4)
    assert (outcome.winner, outcome.end, len(outcome.moves)) == (None, "repetition", 12)


def test_both_sides_scores_end_it() -> None:
    outcome = play(["7g7f", "3c3d", "2g2f", "8c8d", "2f2e"], [1500, -1500, 1500, -1500, 1500])
    assert (outcome.winner, outcome.end, len(outcome.moves)) == (0, "score", 4)


def test_the_limit_is_a_draw_and_an_illegal_move_an_error() -> None:
    assert play(["7g7f", "3c3d", "2g2f"], max_moves=2) == Outcome(None, "move limit", ("7g7f", "3c3d"))
    with pytest.raises(MoveError):
        play(["7g7f", "7g7f"])


class TestAdjudicator:
    def test_both_sides_have_to_see_it_in_a_row(self) -> None:
        judge = Adjudicator(1000, 2)
        scores = [(0, 1200), (1, -1000), (0, 999), (1, -1500), (0, 3000), (1, -1000), (0, 1000)]
        assert [judge.winner(turn, score) for turn, score in scores] == [None] * 6 + [0]

    def test_white_may_be_ahead_and_a_forced_move_says_nothing(self) -> None:
        judge = Adjudicator(1000, 1)
        assert [judge.winner(0, 1000), judge.winner(1, 1000), judge.winner(0, None)] == [None, None, None]
        assert judge.winner(0, -1000) == 1

    def test_a_side_that_tells_no_score_has_not_agreed(self) -> None:
        judge = Adjudicator(1000, 2)
        assert {judge.winner(ply % 2, None if ply % 2 else 3000) for ply in range(20)} == {None}

    def test_never(self) -> None:
        assert Adjudicator(0, 1).winner(0, 30_000) is None
