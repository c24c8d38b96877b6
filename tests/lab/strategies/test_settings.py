"""The opponent, the settings of a laboratory, and the order of its games."""

from __future__ import annotations

import pytest

from lab.strategies.settings import LabError, LabSettings, Opponent, Plan, Point, ScheduledGame


@pytest.mark.parametrize(
    ("text", "name", "fleet", "budget"),
    [
        ("1x", "1x", 1, 1000),
        ("4x", "4x", 1, 4000),
        ("2.50x", "2.5x", 1, 2500),
        ("consult", "consult", 8, 1000),
        ("split@3", "split@3", 3, 1000),
    ],
)
def test_opponents(text: str, name: str, fleet: int, budget: int) -> None:
    settings = LabSettings(1000, text)
    assert settings.against == name
    assert settings.opponent.fleet(8) == fleet
    assert settings.opponent_budget == budget


@pytest.mark.parametrize("text", ["", "x", "0x", "99999x", "-1x", "split@0", "split@many", "flat@2", "1x@2", "4t"])
def test_no_opponent(text: str) -> None:
    with pytest.raises(LabError, match="against"):
        Opponent.parse(text)


def test_values_out_of_range() -> None:
    with pytest.raises(LabError, match="budget is 0"):
        LabSettings(0)
    with pytest.raises(LabError, match="hash_mb is 0"):
        LabSettings(1, hash_mb=0)


def test_the_pace_in_words() -> None:
    assert LabSettings(4000).title == "Elo over one node; 4000 nodes a move for each node"
    assert LabSettings(300, against="2.5x").opponent_budget == 750


def test_all_points_grow_together_a_pair_at_a_time() -> None:
    plan = Plan(("split", "consult"), (4, 2, 2), 4)
    points = [Point("split", 2), Point("split", 4), Point("consult", 2), Point("consult", 4)]
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


def test_finished_games_are_left_out_and_the_plan_may_grow() -> None:
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
def test_impossible_plans(strategies: tuple[str, ...], nodes: tuple[int, ...], games: int, words: str) -> None:
    with pytest.raises(LabError, match=words):
        Plan(strategies, nodes, games)
