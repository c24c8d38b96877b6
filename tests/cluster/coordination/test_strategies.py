"""Strategies by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.coordination.settings import USUAL_VOTE, Mode, Settings
from cluster.coordination.strategies import StrategyError, adjustable, offered, strategy
from cluster.engine_spec import Variety
from cluster.split.tree import TakeoverMargin
from cluster.voting import Vote


def test_every_mode_and_every_vote_is_offered_and_understood() -> None:
    strategies = [strategy(name) for name in offered()]
    assert [found.name for found in strategies] == list(offered())
    assert {found.settings.mode for found in strategies} == set(Mode) - {Mode.AUTO}
    assert strategy("auto").settings.mode is Mode.AUTO
    assert {found.settings.vote for found in strategies if found.settings.mode is Mode.CONSULT} == set(Vote)


def test_a_vote_that_is_left_out_is_the_default() -> None:
    assert strategy("consult") == strategy(f"consult:{USUAL_VOTE}")
    assert strategy("split").settings == Settings(mode=Mode.SPLIT, vote=USUAL_VOTE)
    assert strategy("split:optimistic").settings.vote is Vote.OPTIMISTIC
    assert strategy("auto").settings == Settings(), "auto chooses the vote too"
    assert strategy("auto:weighted").settings == Settings(vote=Vote.WEIGHTED)


def test_settings_behind_the_name() -> None:
    found = strategy("split+presearch_share=0.2+takeover.margin=40")
    assert found.name == "split+presearch_share=0.2+takeover.margin=40"
    assert found.settings == replace(
        strategy("split").settings, presearch_share=0.2, takeover=TakeoverMargin(margin=40)
    )
    assert {"presearch_share", "takeover.margin"} <= set(adjustable())
    assert "validate" not in adjustable()


def test_how_voters_differ_stands_behind_the_name_too() -> None:
    found = strategy("consult:majority+dropout=0.05+ballot_depth_slack=6+noise=20+depths=1+seed=3")
    assert found.name == "consult:majority+dropout=0.05+ballot_depth_slack=6+noise=20+depths=1+seed=3"
    assert found.variety == Variety(dropout=0.05, noise=20.0, depths=True, seed=3)
    assert found.settings == Settings(mode=Mode.CONSULT, vote=Vote.MAJORITY, ballot_depth_slack=6)
    assert strategy("consult").variety == Variety()
    assert {"dropout", "noise", "depths", "seed"} <= set(adjustable())


def test_who_ponders_says_so() -> None:
    found = strategy("split+ponder=1")
    assert (found.name, found.ponder, found.settings) == ("split+ponder=1", True, strategy("split").settings)
    assert not strategy("split+ponder=0").ponder
    assert "ponder" in adjustable()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("split+ponder=yes", "ponder: 'yes' is neither 0 nor 1"),
        ("", "no strategy ''"),
        ("flat", "there are auto, split, consult:majority"),
        ("consult:loudest", "no strategy 'consult:loudest'"),
        ("split+presearch_share", "expected SETTING=NUMBER"),
        ("split+speed=3", "speed: no such setting"),
        ("split+takeover=3", "takeover: no such setting"),
        ("split+takeover.margin.x=3", "no such setting"),
        ("split+validate=1", "validate: no such setting"),
        ("split+presearch_multipv=2.5", "'2.5' is no int"),
        ("tiers+groups=0", "groups is 0: expected 1 or more"),
        ("split+takeover.margin=-1", "takeover.margin: margin is -1: expected 0 or more"),
        ("split+dealing.width=0", "dealing.width: width is 0: expected 1 or more"),
        ("split+redeal.last=1.5", "redeal.last: last is 1.5: expected 0 to 1"),
        ("split+dealing.unseen=nan", "dealing.unseen: unseen is nan: expected 0 or more"),
        ("split+presearch_multipv=0", "presearch_multipv is 0: expected 1 or more"),
        ("split+ponder_replies=0", "ponder_replies is 0: expected 1 or more"),
        ("split+ponder_temperature=0", "ponder_temperature is 0.0: expected more than 0"),
        ("split+ponder_temperature=nan", "ponder_temperature is nan: expected more than 0"),
        ("split+root_share=1.5", "root_share is 1.5: expected 0 to 1"),
        ("split+presearch_share=-0.1", "presearch_share is -0.1: expected 0 to 1"),
        ("split+min_split_depth=-1", "min_split_depth is -1: expected 0 or more"),
        ("split+stop_grace_ms=-1", "stop_grace_ms is -1: expected 0 or more"),
        ("consult+dropout=0.7", "dropout: .*expected dropout 0 to 0.5"),
        ("consult+noise=loud", "noise: could not convert"),
        ("consult+depths=2", "depths: '2' is neither 0 nor 1"),
    ],
)
def test_errors_say_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(StrategyError, match=words.replace("+", r"\+")):
        strategy(text)
