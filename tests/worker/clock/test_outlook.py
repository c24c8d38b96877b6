"""Signs of a search, and the time that they give."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.clock import Outlook, Signs, Watch
from worker.score import MATE


def see(watch: Watch, moves: str, step: float = 1000.0, score: int | None = None) -> list[float]:
    """The stretch after each of equally long steps, in which the best move was a letter (a blank: none yet)."""
    return [
        watch.see(Signs(step * number, letter.strip(), score)).stretch for number, letter in enumerate(moves, start=1)
    ]


def iterations(watch: Watch, scores: list[int], changes: int = 0, effort: float | None = None) -> float:
    """The stretch after iterations with these scores, each twice as long as the one before, whose first move stays the
    best in the end."""
    signs = [Signs(2.0**number, "a", score, changes=changes, effort=effort) for number, score in enumerate(scores)]
    return [watch.see(sign).stretch for sign in signs][-1]


def test_without_a_word_nothing_changes() -> None:
    assert Outlook().stretch == 1.0
    assert Watch().see(Signs(100.0, "")) == Outlook()


def test_a_move_that_stays_is_played_early() -> None:
    assert set(see(Watch(), "aaaaaaaa")) == {0.7}


def test_a_late_change_buys_time_that_is_given_back_as_it_settles() -> None:
    stretches = see(Watch(), "aaaabbbbbbbbbbbb")
    assert stretches[3] == 0.7
    assert stretches[4] == pytest.approx(1.6)
    assert all(before >= after for before, after in itertools.pairwise(stretches[4:]))
    assert stretches[9] == pytest.approx(1.15, abs=0.06)  # twice as long: it counts for half


def test_a_search_that_cannot_make_up_its_mind_gets_twice_the_time_at_most() -> None:
    assert max(see(Watch(), "abababababab")) == 2.0


def test_the_first_move_is_no_change_unless_pondering_knew_another() -> None:
    assert see(Watch(), "  aa")[-1] == 0.7
    assert see(Watch(move="a", known_ms=4000.0), "aa")[-1] == 0.7
    assert see(Watch(move="b", known_ms=4000.0), "aa")[-1] > 1.1


def test_a_falling_score_buys_time_and_a_rising_one_saves_some() -> None:
    stretches = [Watch(score=0).see(Signs(100.0, "", score)).stretch for score in (-MATE, -800, -100, 0, 30, MATE)]
    assert stretches == sorted(stretches, reverse=True)
    assert stretches[0] == stretches[1] == 1.6
    assert 1.2 < stretches[2] < 1.4
    assert stretches[3] == 1.0
    assert stretches[-1] == 0.85


def test_a_score_that_falls_within_the_search_buys_time() -> None:
    calm = iterations(Watch(), [50] * 10)
    assert iterations(Watch(), [50, 50, 50, 50, 50, 50, 50, 20, -20, -60]) > calm
    assert iterations(Watch(), [50, 50, 50, 50, 50, 50, 50, 80, 120, 160]) < calm
    assert iterations(Watch(), [200] * 3 + [50] * 7) == calm  # that was at the beginning of the search


def test_a_lost_score_cannot_fall() -> None:
    assert Watch(score=-12_000).see(Signs(100.0, "", -14_000)).stretch == 1.0


def test_changes_within_an_iteration_count_though_the_move_stays() -> None:
    assert iterations(Watch(), [0] * 8, changes=1) > 1 > iterations(Watch(), [0] * 8)


def test_a_move_that_took_nearly_all_the_work_is_played_early() -> None:
    assert iterations(Watch(), [0] * 8, effort=0.95) < iterations(Watch(), [0] * 8, effort=0.9)
    assert iterations(Watch(), [0] * 8, effort=0.9) == iterations(Watch(), [0] * 8)


def test_all_of_it_multiplies() -> None:
    assert Outlook(agreement=0.5, instability=0.5, loss=0.05).stretch == pytest.approx(2 * 1.15 * 1.4, abs=0.025)


@given(
    st.none() | st.integers(-MATE, MATE),
    st.lists(
        st.builds(
            Signs,
            st.floats(0, 1e7),
            st.sampled_from("abc"),
            st.none() | st.integers(-MATE, MATE),
            st.floats(0, 1),
            st.none() | st.integers(0, 9),
            st.none() | st.floats(0, 1),
        ),
        max_size=20,
    ),
)
def test_the_stretch_has_bounds_for_any_signs(score: int | None, seen: list[Signs]) -> None:
    watch = Watch(score)
    for signs in sorted(seen, key=lambda signs: signs.elapsed_ms):
        assert 0.3 <= watch.see(signs).stretch <= 10 * 2.0 * 1.6
