"""Which games are played, and in which order."""

from __future__ import annotations

import pytest

from lab.strategies.settings import Due, LabError, Plan, Point, ScheduledGame


def test_all_points_grow_together_a_pair_at_a_time() -> None:
    plan = Plan(("split", "consult"), (4, 2, 2), 4)
    points = [Point("split", 2), Point("split", 4), Point("consult:majority", 2), Point("consult:majority", 4)]
    assert list(plan.points) == points
    games = list(plan.left([]))
    assert [(game.point, game.number) for game in games] == [
        (point, number) for pair in (0, 1) for point in points for number in (2 * pair, 2 * pair + 1)
    ]
    assert [(game.pair, game.a_is_black) for game in games if game.point == points[0]] == [
        (0, True),
        (0, False),
        (1, True),
        (1, False),
    ]


def test_what_was_played_is_left_out_and_the_plan_may_grow() -> None:
    played = list(Plan(("split",), (2,), 2).left([]))
    left = list(Plan(("split", "consult"), (2,), 4).left([*played, ScheduledGame(Point("flat", 9), 0)]))
    assert len(left) == 6
    assert not set(left) & set(played)


@pytest.mark.parametrize(
    ("strategies", "nodes", "games", "words"),
    [
        ((), (1,), 2, "a strategy and a number of nodes"),
        (("split",), (), 2, "a strategy and a number of nodes"),
        (("split",), (1,), 3, "even number"),
        (("split",), (0, 2), 2, "0 nodes"),
        (("split",), (1001,), 2, "1001 nodes"),
        (("flat",), (1,), 2, "no strategy 'flat'"),
    ],
)
def test_what_cannot_be_planned(strategies: tuple[str, ...], nodes: tuple[int, ...], games: int, words: str) -> None:
    with pytest.raises(LabError, match=words):
        Plan(strategies, nodes, games)


def test_a_point_that_is_opened_again_gets_its_games() -> None:
    one, other = Point("split", 2), Point("split", 4)
    games = [ScheduledGame(point, number) for number in (0, 1) for point in (one, other)]
    shut = {one}
    due = Due([(game, "") for game in games], lambda point: point not in shut)
    assert [game for game, _ in due] == [ScheduledGame(other, 0), ScheduledGame(other, 1)]
    assert list(due) == []
    shut.clear()
    assert [game for game, _ in due] == [ScheduledGame(one, 0), ScheduledGame(one, 1)]


def test_each_point_is_asked_about_once_for_a_game() -> None:
    one, other = Point("split", 2), Point("split", 4)
    games = [ScheduledGame(point, number) for number in range(100) for point in (one, other)]
    asked: list[Point] = []

    def is_open(point: Point) -> bool:
        asked.append(point)
        return point != one

    assert len(list(Due([(game, "") for game in games], is_open))) == 100
    assert len(asked) <= 202
