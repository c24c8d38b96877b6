"""The verdict on moves, and a player's rates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from master.analysis.judgement import (
    BANDS,
    MOST_CP,
    Judged,
    Quality,
    Sureness,
    band,
    doubtful,
    judge,
    statistics,
    turning_points,
)
from master.analysis.plan import Evaluation, evaluations, plan
from tests.master.analysis.records import blunder_report, evaluated, game
from worker.engine import Bound
from worker.score import mate_in, mated_in


def judged(best: Evaluation, after: int) -> Judged:
    """The verdict on black's first move 7g7f, if the analysis has ``best`` before it and white's score ``after``."""
    of = game()
    points, found = evaluated(of, {0: best, 1: Evaluation(after, "8c8d", ("8c8d",))})
    return judge(of, points, evaluations(points, found))[0]


@pytest.mark.parametrize(
    ("after", "quality"),
    [
        (0, Quality.GOOD),
        (-50, Quality.GOOD),
        (119, Quality.GOOD),
        (121, Quality.INACCURACY),
        (245, Quality.DUBIOUS),
        (509, Quality.MISTAKE),
        (2000, Quality.MISTAKE),
    ],
)
def test_classes_by_win_probability_lost_from_an_even_position(after: int, quality: Quality) -> None:
    assert judged(Evaluation(0, "2g2f", ("2g2f",)), after).quality is quality


def test_the_same_drop_is_worse_in_an_even_position_than_in_a_won_one() -> None:
    even = judged(Evaluation(300, "2g2f"), 300)
    won = judged(Evaluation(1900, "2g2f"), -1300)
    assert even.loss_cp == won.loss_cp == 600
    assert (even.quality, won.quality) == (Quality.MISTAKE, Quality.INACCURACY)
    assert judged(Evaluation(1500, "2g2f"), 1500).quality is Quality.BLUNDER


def test_the_first_choice_loses_nothing_for_any_score_after_it() -> None:
    move = judged(Evaluation(100, "7g7f"), 900)
    assert (move.quality, move.loss, move.loss_cp, move.after) == (Quality.BEST, 0.0, 0, -900)


def test_a_missed_mate_is_reported_even_if_the_game_stays_won() -> None:
    move = judged(Evaluation(mate_in(5), "2g2f"), -MOST_CP)
    assert move.missed_mate
    assert move.loss_cp == 0, "beyond the limit nothing is lost"
    assert not judged(Evaluation(mate_in(5), "2g2f"), mated_in(8)).missed_mate, "a longer mate is one"


def test_a_move_into_a_mate() -> None:
    move = judged(Evaluation(0, "2g2f"), mate_in(7))
    assert (move.allowed_mate, move.quality, move.loss_cp) == (True, Quality.BLUNDER, MOST_CP)
    assert not judged(Evaluation(mated_in(6), "2g2f"), mate_in(3)).allowed_mate, "it was lost before"


def test_what_was_not_searched_is_unknown_and_does_not_count() -> None:
    of = game()
    points, found = evaluated(of, {})
    del found[()]
    moves = judge(of, points, evaluations(points, found))
    assert moves[0].quality is Quality.UNKNOWN
    assert not moves[0].counts and moves[1].counts


def test_turning_points_are_the_worst_moves_in_the_order_of_the_game() -> None:
    report = blunder_report()
    assert [(move.number, move.quality) for move in report.turning] == [(2, Quality.MISTAKE)]
    assert turning_points(report.moves, 0) == ()


def twice(first: int, second: int, bound: Bound = Bound.EXACT, best: str = "2g2f") -> Judged:
    """Black's first move from an even position, with white's score after it in a first and in a longer search."""
    of = game()
    points = plan(of)
    before = Evaluation(0, "2g2f", ("2g2f",))
    known = [before, Evaluation(first, "8c8d", ("8c8d",)), *[None] * 3]
    again = [replace(before, best=best), Evaluation(second, "8c8d", ("8c8d",), bound=bound), *[None] * 3]
    return judge(of, points, known, again)[0]


@pytest.mark.parametrize(
    ("move", "quality", "sureness"),
    [
        (twice(1100, 1120), Quality.MISTAKE, Sureness.SURE),
        (twice(370, 380), Quality.DUBIOUS, Sureness.LIKELY),
        (twice(540, 250), Quality.DUBIOUS, Sureness.UNSURE),
        (twice(250, 255), Quality.DUBIOUS, Sureness.LIKELY),
        (twice(370, 0, best="7g7f"), Quality.BEST, Sureness.UNSURE),
        (twice(370, 380, Bound.LOWER), Quality.DUBIOUS, Sureness.UNSURE),
    ],
)
def test_the_second_search_has_the_verdict_and_says_how_sure_it_is(
    move: Judged, quality: Quality, sureness: Sureness
) -> None:
    assert (move.quality, move.sureness) == (quality, sureness)
    assert move.first is not None and move.first.quality in (Quality.DUBIOUS, Quality.MISTAKE)


def test_only_reported_moves_or_near_ones_are_searched_again() -> None:
    for after, again in ((0, set()), (60, set()), (90, {0, 1}), (370, {0, 1})):
        assert doubtful([judged(Evaluation(0, "2g2f", ("2g2f",)), after)]) == again
    bound = judged(Evaluation(0, "2g2f", ("2g2f",), bound=Bound.LOWER), 0)
    assert doubtful([bound]) == {0, 1}, "its loss is not known"
    assert doubtful([judged(Evaluation(0, "7g7f", ("7g7f",)), 370)]) == set(), "the first choice"


def test_scores_of_different_effort_are_not_compared() -> None:
    of = game()
    points, found = evaluated(of, {1: Evaluation(0, "8c8d", ("8c8d",)), 2: Evaluation(0, "2g2f", ("2g2f",))})
    known = evaluations(points, found)
    again = (None, Evaluation(900, "8c8d", ("8c8d",)), Evaluation(-900, "2g2f", ("2g2f",)), None, None)
    moves = judge(of, points, known, again)
    assert moves[1].first is not None and moves[1].loss == pytest.approx(0.0, abs=0.01)
    assert [move.first for move in (moves[0], moves[2], moves[3])] == [None, None, None]
    assert moves[0].loss == moves[2].loss == 0.0, "their points were searched once"


def move(score: int, quality: Quality = Quality.GOOD, loss: float = 0.0, loss_cp: int = 0, **more: bool) -> Judged:
    return Judged(1, 0, "7g7f", quality, Evaluation(score, "2g2f"), score - loss_cp, loss, loss_cp, **more)


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (mated_in(2), "lost"), (-1501, "lost"), (-1500, "bad"), (-700, "worse"), (-251, "worse"), (-250, "even"),
        (0, "even"), (250, "even"), (251, "better"), (700, "better"), (1500, "good"), (1501, "won"),
        (mate_in(9), "won"),
    ],
)  # fmt: skip
def test_bands(score: int, name: str) -> None:
    assert BANDS[band(score)] == name


def test_rates_by_band() -> None:
    found = statistics(
        "a",
        [
            move(0, Quality.BEST),
            move(10, Quality.DUBIOUS, 0.12, 300),
            move(800, Quality.INACCURACY, 0.06, 200),
            move(2000, Quality.BLUNDER, 0.6, 2000, missed_mate=True),
            move(0, Quality.FORCED),
            move(0, Quality.UNKNOWN),
        ],
        games=2,
    )
    assert (found.total.moves, found.games, found.missed_mates) == (4, 2, 1)
    even = found.bands[BANDS.index("even")]
    assert (even.moves, even.best, even.bad, even.loss, even.loss_cp) == (2, 0.5, 0.5, 0.06, 150)
    assert found.bands[BANDS.index("good")].bad == 0.0, "an inaccuracy is no bad move"
    assert found.bands[BANDS.index("lost")].moves == 0
    assert found.counts == {Quality.BEST: 1, Quality.DUBIOUS: 1, Quality.INACCURACY: 1, Quality.BLUNDER: 1}
    assert found.losses == ((3, 0), (3, 300), (5, 200), (6, 2000))


def test_no_moves() -> None:
    found = statistics("a", [])
    assert (found.total.moves, found.accuracy, found.losses) == (0, None, ())
