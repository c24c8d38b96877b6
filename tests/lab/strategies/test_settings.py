"""The opponent, and the settings of a laboratory."""

from __future__ import annotations

import pytest

from lab.strategies.settings import LabError, LabSettings, Opponent


@pytest.mark.parametrize(
    ("text", "name", "fleet", "budget"),
    [
        ("1x", "1x", 1, 1000),
        ("4x", "4x", 1, 4000),
        ("2.50x", "2.5x", 1, 2500),
        ("consult", "consult:majority", 8, 1000),
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


def test_an_opponent_in_words() -> None:
    names = ("1x", "4x", "consult", "split@4", "split@1")
    assert [Opponent.parse(name).words for name in names] == [
        "one node",
        "one node with 4 times the budget",
        "consult:majority with as many nodes",
        "split with 4 nodes",
        "split with 1 node",
    ]


def test_values_out_of_range() -> None:
    with pytest.raises(LabError, match="budget is 0"):
        LabSettings(0)
    with pytest.raises(LabError, match="hash_mb is 0"):
        LabSettings(1, hash_mb=0)


def test_the_pace_in_words() -> None:
    assert LabSettings(4000).title == "Elo over one node; 4000 nodes a move for each node"
    assert LabSettings(300, against="2.5x").opponent_budget == 750
