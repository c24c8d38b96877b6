from __future__ import annotations

import pytest

from master.analysis.game import GameFileError, PlayedMove, RecordedGame
from master.analysis.plan import Evaluation, evaluations, plan, searches
from tests.master.analysis.records import MATE, game
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS

ONE_REPLY = "8k/7l1/9/9/9/9/9/9/4K3R w - 1"
"""The checked king has one square to go to."""


def played(sfen: str, *moves: str) -> RecordedGame:
    return RecordedGame("x.csa", 0, ("a", "b"), sfen, tuple(map(PlayedMove, moves)))


def test_every_position_is_searched_once_the_last_one_first() -> None:
    points = plan(game())
    assert [point.ply for point in points] == [0, 1, 2, 3, 4]
    assert [len(moves) for moves in searches(points)] == [4, 3, 2, 1, 0]
    assert [point.turn for point in points] == [0, 1, 0, 1, 0]


def test_a_range_needs_the_position_behind_its_last_move() -> None:
    points = plan(game(), 2, 3)
    assert [point.ply for point in points] == [1, 2, 3]
    assert [point.ply for point in plan(game(), 4, 99)] == [3, 4]
    for first, last in ((5, None), (3, 2)):
        with pytest.raises(GameFileError, match=r"game\.csa: no move from \d to \d: it has 4 moves"):
            plan(game(), first, last)


def test_a_mated_side_takes_no_search() -> None:
    points = plan(game(MATE))
    assert points[1].over == Evaluation(mated_in(0))
    assert searches(points) == [()]
    known = evaluations(points, {(): Evaluation(mate_in(1), "G*1b", ("G*1b",))})
    assert [one.score for one in known if one] == [mate_in(1), mated_in(0)]


def test_a_repetition_is_known_by_the_rules() -> None:
    shuffle = ("2h3h", "8b7b", "3h2h", "7b8b") * 3
    last = plan(played(STARTPOS, *shuffle))[-1]
    assert last.over == Evaluation(0)


def test_a_side_that_may_declare_has_won() -> None:
    first = plan(played("K1RR5/GGGG5/SSSS5/PPPP5/9/9/9/9/8k b 2BP 1", "6c5b"))[0]
    assert first.over == Evaluation(mate_in(1), "win", ("win",))
    assert first.search is None


def test_a_forced_reply_has_the_score_of_what_follows() -> None:
    first = plan(played(ONE_REPLY, "1a2a"))[0]
    assert (first.choices, first.forced, first.search) == (1, ("1a2a",), ("1a2a",))
    (known,) = evaluations([first], {("1a2a",): Evaluation(mate_in(5), "1i1a+", ("1i1a+",), 7)})
    assert known == Evaluation(mated_in(6), "1a2a", ("1a2a", "1i1a+"), 7)


def test_a_missing_search_leaves_the_position_unknown() -> None:
    points = plan(game())
    known = evaluations(points, {(): Evaluation(5, "7g7f", ("7g7f",))})
    assert known[0] is not None and known[1:] == (None,) * 4


@pytest.mark.parametrize(("sfen", "words"), [("9/9 b - 1", "the start position"), (STARTPOS, "move 1")])
def test_what_cannot_be_played_is_refused(sfen: str, words: str) -> None:
    with pytest.raises(GameFileError, match=words):
        plan(played(sfen, "1a1i"))
