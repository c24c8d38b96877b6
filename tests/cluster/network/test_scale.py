"""Scores of engines with different scales: equal chances to win are equal scores, and vote alike."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster.network.messages import COMMON, Job, Report
from cluster.network.scale import Scale
from cluster.voting import count
from tests.answers import make_ballot
from worker.engine import Bound, SearchInfo
from worker.rules import Rules
from worker.score import MAX_EVAL, WIN_SCALE, mate_in, mated_in, winning_probability
from worker.shogi import STARTPOS

SCALES = st.floats(100, 5000).map(Scale)
SCORES = st.integers(-4000, 4000)


@given(SCALES, SCORES)
def test_a_score_keeps_its_chance_to_win(scale: Scale, score: int) -> None:
    chance = winning_probability(score, scale.win_scale)
    assert winning_probability(scale.common(score)) == pytest.approx(chance, abs=0.25 / WIN_SCALE)
    assert winning_probability(scale.own(score), scale.win_scale) == pytest.approx(
        winning_probability(score), abs=0.25 / scale.win_scale
    )


@given(st.lists(st.tuples(SCALES, st.sampled_from("abc"), st.floats(-3, 3)), min_size=1, max_size=6))
@example([(Scale(500.0), "a", 1.357421875)])  # halfway between two centipawns
def test_equal_chances_vote_alike(voters: list[tuple[Scale, str, float]]) -> None:
    """The result is that of voters with one scale and the same chances (odds of e to the power of the number)."""
    told, wanted = [], []
    for number, (scale, move, odds) in enumerate(voters):
        own = round(odds * scale.win_scale)
        told.append(make_ballot(f"n{number}", move, scale.common(own), 20, 1000))
        wanted.append(make_ballot(f"n{number}", move, round(own * WIN_SCALE / scale.win_scale), 20, 1000))
    assert count(told) == count(wanted)


@given(SCALES, st.integers(1, 200))
def test_mates_are_the_same_on_every_scale(scale: Scale, plies: int) -> None:
    for score in (mate_in(plies), mated_in(plies)):
        assert scale.common(score) == scale.own(score) == score
        assert scale.window(score, None) == (score, None)
    for score in (MAX_EVAL, -MAX_EVAL):
        assert abs(scale.common(score)) <= MAX_EVAL and abs(scale.own(score)) <= MAX_EVAL, "never a mate"


@given(SCALES, SCORES, st.integers(1, 500))
def test_a_window_holds_that_of_the_fleet(scale: Scale, alpha: int, width: int) -> None:
    """An engine's bound for its own window is a bound for the fleet's."""
    low, high = scale.window(alpha, alpha + width)
    assert low is not None and high is not None and low < high
    assert scale.common(low) <= alpha and scale.common(high) >= alpha + width


def test_a_job_and_its_report() -> None:
    """A draw value, a window and a score, for an engine with twice our centipawns."""
    scale = Scale(2 * WIN_SCALE)
    job = Job(search_id=1, job_id=1, sfen=STARTPOS, alpha=-31, beta=40, draw_black=-2, draw_white=7)
    limits, rules = job.limits(scale), job.rules(Rules(), scale)
    assert (limits.alpha, limits.beta, rules.draw_black, rules.draw_white) == (-62, 80, -4, 14)
    info = SearchInfo(9, 12, 130, Bound.EXACT, 1000, 10, 0, ("7g7f",))
    assert Report.of("n", job, info, scale).score == 65
    assert Report.of("n", job, info).score == 130
    assert job.limits() == job.limits(COMMON)
    assert job.limits().alpha == -31
