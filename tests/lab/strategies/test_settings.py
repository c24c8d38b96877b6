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


@pytest.mark.parametrize(
    "text", ["", "x", "0x", "99999x", "-1x", "split@0", "split@many", "flat@2", "1x@2", "0t", "513t", "2.5t"]
)
def test_no_opponent(text: str) -> None:
    with pytest.raises(LabError, match="against"):
        Opponent.parse(text)


def test_an_opponent_in_words() -> None:
    names = ("1x", "4x", "1t", "4t", "consult", "split@4", "split@1")
    assert [Opponent.parse(name).words for name in names] == [
        "one node",
        "one node with 4 times the budget",
        "one node",
        "one node with 4 threads",
        "consult:majority with as many nodes",
        "split with 4 nodes",
        "split with 1 node",
    ]


def test_threads_need_a_real_clock() -> None:
    assert LabSettings(ms=300, against="4t").against == "4t"
    assert LabSettings(1000, "1t").against == "1x", "the same player under another name"
    with pytest.raises(LabError, match=r"against 4t: .* --real"):
        LabSettings(1000, "4t")


def test_values_out_of_range() -> None:
    with pytest.raises(LabError, match="budget is 0"):
        LabSettings(0)
    with pytest.raises(LabError, match="ms is -1"):
        LabSettings(ms=-1)
    with pytest.raises(LabError, match="budget 5 and 5 ms a move: expected one of them"):
        LabSettings(5, ms=5)
    with pytest.raises(LabError, match="hash_mb is 0"):
        LabSettings(1, hash_mb=0)


def test_the_pace_in_words() -> None:
    assert LabSettings(4000).title == "Elo over one node; 4000 nodes a move for each node"
    real = LabSettings(ms=300, against="2.5x")
    assert real.title == "Elo over one node with 2.5 times the budget; 300 ms a move in real time"
    assert real.opponent_ms == 750
