"""Ends of games by the players' own scores."""

from __future__ import annotations

from lab.match.game import Adjudicator, Resignation


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


class TestResignation:
    def test_a_side_gives_up_by_its_own_scores_in_a_row(self) -> None:
        judge = Resignation(1000, 2)
        scores = [(0, -1200), (1, 5000), (0, -999), (1, 5000), (0, -1000), (1, -3000), (0, None), (0, -1000)]
        assert [judge.resigns(turn, score) for turn, score in scores] == [False] * 7 + [True]

    def test_never(self) -> None:
        assert not Resignation(0, 1).resigns(0, -30_000)
