"""Strategies by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.coordination.settings import Mode, Settings
from cluster.split.tree import TakeoverMargin
from lab.strategies.strategy import StrategyError, adjustable, strategy


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_is_a_strategy(mode: Mode) -> None:
    assert (strategy(mode).name, strategy(mode).settings) == (mode, Settings(mode=mode))


def test_settings_after_the_name() -> None:
    found = strategy("split+presearch_share=0.2+takeover.margin=40")
    assert found.name == "split+presearch_share=0.2+takeover.margin=40"
    assert found.settings == replace(
        strategy("split").settings, presearch_share=0.2, takeover=TakeoverMargin(margin=40)
    )
    assert {"presearch_share", "takeover.margin"} <= set(adjustable())
    assert "validate" not in adjustable()


def test_the_difference_of_voters_follows_the_name_too() -> None:
    found = strategy("consult+ballot_depth_slack=6+depths=0")
    assert found.name == "consult+ballot_depth_slack=6+depths=0"
    assert not found.depths
    assert found.settings == Settings(mode=Mode.CONSULT, ballot_depth_slack=6)
    assert strategy("consult").depths
    assert "depths" in adjustable()


def test_a_pondering_node_says_so() -> None:
    found = strategy("split+ponder=1")
    assert (found.name, found.ponder, found.settings) == ("split+ponder=1", True, strategy("split").settings)
    assert not strategy("split+ponder=0").ponder
    assert "ponder" in adjustable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("split+ponder=yes", "ponder: 'yes' is neither 0 nor 1"),
        ("", "no strategy ''"),
        ("flat", "there are consult, split, tiers"),
        ("consult:loudest", "no strategy 'consult:loudest'"),
        ("split+presearch_share", "expected SETTING=NUMBER"),
        ("split+speed=3", "speed: no such setting"),
        ("split+takeover=3", "takeover: no such setting"),
        ("split+validate=1", "validate: no such setting"),
        ("split+presearch_multipv=2.5", "'2.5' is no int"),
        ("tiers+groups=0", "groups is 0: expected 1 or more"),
        ("split+takeover.margin=-1", "takeover.margin: margin is -1: expected 0 or more"),
        ("split+redeal.last=1.5", "redeal.last: last is 1.5: expected 0 to 1"),
        ("split+dealing.unseen=nan", "dealing.unseen: unseen is nan: expected 0 or more"),
        ("split+ponder_temperature=0", "ponder_temperature is 0.0: expected more than 0"),
        ("split+root_share=1.5", "root_share is 1.5: expected 0 to 1"),
        ("split+stop_grace_ms=-1", "stop_grace_ms is -1: expected 0 or more"),
        ("consult+depths=2", "depths: '2' is neither 0 nor 1"),
    ],
)
def test_errors_name_the_fault(text: str, words: str) -> None:
    with pytest.raises(StrategyError, match=words.replace("+", r"\+")):
        strategy(text)
