"""What a search says of how hard its move is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.clock import Outlook, Watch
from worker.score import MATE


def see(watch: Watch, moves: str, step: float = 1000.0, score: int | None = None) -> list[float]:
    """The stretch after each of equally long steps, in which the best move was a letter (a blank: none yet)."""
    return [
        watch.see(step * number, letter.strip(), score, 1.0).stretch for number, letter in enumerate(moves, start=1)
    ]


def test_without_a_word_nothing_changes() -> None:
    assert Outlook().stretch == 1.0
    assert Watch().see(100.0, "", None, 1.0) == Outlook()


def test_a_move_that_stays_is_played_early() -> None:
    assert set(see(Watch(), "aaaaaaaa")) == {0.7}


def test_a_late_change_buys_time_that_is_given_back_as_it_settles() -> None:
    stretches = see(Watch(), "aaaabbbbbbbbbbbb")
    assert stretches[3] == 0.7
    assert stretches[4] == pytest.approx(1.25)
    assert all(before >= after for before, after in itertools.pairwise(stretches[4:]))
    assert stretches[9] == pytest.approx(1.0, abs=0.06)  # twice as long: it counts for half


def test_the_later_the_change_the_more_of_the_time() -> None:
    early, late = see(Watch(), "abbbbbbb")[-1], see(Watch(), "aaaaaabb")[-1]
    assert 0.7 < early < late


def test_a_search_that_cannot_make_up_its_mind_gets_twice_the_time_at_most() -> None:
    assert max(see(Watch(), "abababababab")) == 2.0


def test_the_first_move_is_no_change_unless_pondering_knew_another() -> None:
    assert see(Watch(), "  aa")[-1] == 0.7
    assert see(Watch(move="a", known_ms=4000.0), "aa")[-1] == 0.7
    assert see(Watch(move="b", known_ms=4000.0), "aa")[-1] > 1.1


def test_a_falling_score_buys_time_and_a_rising_one_saves_some() -> None:
    stretches = [Watch(score=0).see(100.0, "", score, 1.0).stretch for score in (-MATE, -800, -200, 0, 100, MATE)]
    assert stretches == sorted(stretches, reverse=True)
    assert stretches[0] == 1.6
    assert stretches[2] == pytest.approx(1.25)
    assert stretches[3] == 1.0
    assert stretches[-1] == pytest.approx(0.85)


def test_what_is_lost_already_cannot_fall() -> None:
    assert Watch(score=-3000).see(100.0, "", -4000, 1.0).stretch == 1.0


def test_all_of_it_multiplies() -> None:
    assert Outlook(agreement=0.5, instability=1.0, loss=0.1).stretch == pytest.approx(2 * 1.25 * 1.3, abs=0.025)


@given(
    st.none() | st.integers(-MATE, MATE),
    st.lists(
        st.tuples(st.floats(0, 1e7), st.sampled_from("abc"), st.none() | st.integers(-MATE, MATE), st.floats(0, 1)),
        max_size=20,
    ),
)
def test_whatever_is_seen_the_stretch_has_bounds(
    score: int | None, seen: list[tuple[float, str, int | None, float]]
) -> None:
    watch = Watch(score)
    for elapsed, move, now, agreement in sorted(seen, key=lambda item: item[0]):
        assert 0.55 <= watch.see(elapsed, move, now, agreement).stretch <= 10 * 2.0 * 1.6
