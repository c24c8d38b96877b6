from __future__ import annotations

import pytest

from cluster.node.appetite import Appetite


def test_a_node_with_a_core_of_its_own_says_nothing() -> None:
    appetite = Appetite()
    assert [appetite.note(1.0, 0.02, second) for second in range(100)] == [None] * 100


def test_a_starving_node_says_how_much_it_has_once_a_minute() -> None:
    appetite = Appetite()
    told = [(second, percent) for second in range(1, 130) if (percent := appetite.note(0.5, 0.5, second)) is not None]
    assert told == [(3, 50), (63, 50), (123, 50)]


@pytest.mark.parametrize(("ran_s", "percent"), [(3.04, None), (2.96, 74), (0.04, 1)])
def test_where_the_line_is(ran_s: float, percent: int | None) -> None:
    assert Appetite().note(ran_s, 4.0 - ran_s, 0.0) == percent


def test_a_slow_moment_and_an_engine_that_sleeps_are_no_starving() -> None:
    appetite = Appetite()
    assert appetite.note(0.1, 0.4, 0.0) is None
    assert [appetite.note(1.0, 0.0, second) for second in (1, 2, 3, 4)] == [None] * 4
    assert [appetite.note(0.0, 0.0, second) for second in (5, 6, 7, 8)] == [None] * 4
