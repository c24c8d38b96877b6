"""Strategies by name."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from cluster.api import SearchRequest
from cluster.coordination.settings import USUAL_VOTE, Mode, Settings
from cluster.coordination.strategies import (
    Measured,
    StrategyError,
    TableError,
    adjustable,
    budget,
    choose,
    offered,
    read_table,
    resolved,
    strategy,
    write_table,
)
from cluster.split.tree import TakeoverMargin
from cluster.voting import Vote
from worker.shogi import STARTPOS


def test_every_mode_and_every_vote_is_offered_and_understood() -> None:
    strategies = [strategy(name) for name in offered()]
    assert [found.name for found in strategies] == list(offered())
    assert {found.settings.mode for found in strategies} == set(Mode) - {Mode.AUTO}
    assert strategy("auto").settings.mode is Mode.AUTO
    assert {found.settings.vote for found in strategies if found.settings.mode is Mode.CONSULT} == set(Vote)


def test_a_vote_that_is_left_out_is_the_default() -> None:
    assert strategy("consult") == strategy(f"consult:{USUAL_VOTE}")
    assert strategy("split").settings == Settings(mode=Mode.SPLIT, vote=USUAL_VOTE)
    assert strategy("split:weighted").settings.vote is Vote.WEIGHTED
    assert strategy("auto").settings == Settings(), "auto chooses the vote too"
    assert strategy("auto:weighted").settings == Settings(vote=Vote.WEIGHTED)


def test_settings_after_the_name() -> None:
    found = strategy("split+presearch_share=0.2+takeover.margin=40")
    assert found.name == "split+presearch_share=0.2+takeover.margin=40"
    assert found.settings == replace(
        strategy("split").settings, presearch_share=0.2, takeover=TakeoverMargin(margin=40)
    )
    assert {"presearch_share", "takeover.margin"} <= set(adjustable())
    assert "validate" not in adjustable()


def test_the_difference_of_voters_follows_the_name_too() -> None:
    found = strategy("consult:majority+ballot_depth_slack=6+depths=0")
    assert found.name == "consult:majority+ballot_depth_slack=6+depths=0"
    assert not found.depths
    assert found.settings == Settings(mode=Mode.CONSULT, vote=Vote.MAJORITY, ballot_depth_slack=6)
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
        ("flat", "there are auto, split, consult:majority"),
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


SPLIT = Measured("split", 4, 4000, 100.0, 40.0, 160.0, 100)
VOTE = Measured("consult:weighted+ballot_depth_slack=3", 4, 4000, 150.0, 90.0, 210.0, 100)
TABLE = (
    SPLIT,
    VOTE,
    replace(SPLIT, nodes=16, elo=200.0, low=140.0, high=260.0),
    replace(VOTE, nodes=16, elo=180.0, low=120.0, high=240.0),
    replace(SPLIT, budget=100_000, elo=90.0, low=30.0, high=150.0),
    replace(VOTE, budget=100_000, elo=60.0, low=0.0, high=120.0),
)
AUTO = Settings(mode=Mode.AUTO)


@pytest.mark.parametrize(
    ("nodes", "budget", "chosen"),
    [
        (4, 4000, VOTE),
        (2, 100, VOTE),
        (7, 4000, VOTE),
        (9, 4000, TABLE[2]),
        (1000, 4000, TABLE[2]),
        (4, 60_000, TABLE[4]),
        (16, 10_000_000, TABLE[4]),
    ],
)
def test_the_nearest_measurement_gives_the_best(nodes: int, budget: int, chosen: Measured) -> None:
    assert choose(TABLE, nodes, budget) == chosen


def test_few_games_count_little() -> None:
    lucky = Measured("consult:majority", 4, 4000, 170.0, -20.0, 360.0, 6)
    assert choose((SPLIT, VOTE, lucky), 4, 4000) == VOTE
    assert choose((replace(lucky, elo=None, low=-113.0, high=None, games=2), VOTE), 4, 4000) == VOTE
    hopeless = Measured("consult:majority", 4, 4000, None, None, -200.0, 20)
    assert choose((hopeless, SPLIT), 4, 4000) == SPLIT


def test_points_of_two_networks_do_not_compare() -> None:
    tiers = Measured("tiers", 4, 4000, 400.0, 300.0, 500.0, 1000, "b")
    assert choose((SPLIT, VOTE, tiers), 4, 4000) == VOTE
    others = tuple(replace(point, net="b", games=200) for point in (SPLIT, VOTE))
    assert choose((SPLIT, VOTE, tiers, *others), 4, 4000) == tiers


def test_the_settings_become_the_strategy_s() -> None:
    mine = replace(AUTO, stop_grace_ms=7)
    found = resolved(mine, TABLE, 4, 4000)
    assert (found.mode, found.vote, found.ballot_depth_slack) == (Mode.CONSULT, Vote.WEIGHTED, 3)
    assert found.stop_grace_ms == 7, "settings that the strategy does not name stay"
    assert resolved(AUTO, TABLE, 16, 4000).mode is Mode.SPLIT


def test_a_named_vote_is_used() -> None:
    """For a measured vote, the only alternative is the split; for another vote, the best mode is chosen."""
    majority = replace(VOTE, strategy="consult:majority", elo=180.0, low=120.0)
    table = (SPLIT, VOTE, majority)
    chosen = {vote: resolved(replace(AUTO, vote=vote), table, 4, 4000) for vote in (None, *Vote)}
    assert {found.mode for found in chosen.values()} == {Mode.CONSULT}
    assert {vote: found.vote for vote, found in chosen.items()} == {None: Vote.MAJORITY} | {vote: vote for vote in Vote}
    assert (chosen[Vote.WEIGHTED].ballot_depth_slack, chosen[Vote.MAJORITY].ballot_depth_slack) == (3, 4)
    weak = replace(VOTE, elo=50.0, low=0.0)
    found = resolved(replace(AUTO, vote=Vote.WEIGHTED), (SPLIT, weak, majority), 4, 4000)
    assert (found.mode, found.vote) == (Mode.SPLIT, Vote.WEIGHTED)
    assert resolved(replace(AUTO, vote=Vote.WEIGHTED), (), 4, 4000).vote is Vote.WEIGHTED


def test_without_a_choice_all_consult() -> None:
    assert resolved(AUTO, (), 4, 4000).mode is Mode.CONSULT
    assert resolved(AUTO, TABLE, 1, 4000).mode is Mode.CONSULT
    assert choose((), 4, 4000) is None


def test_the_budget_is_nodes_or_time_by_speed() -> None:
    assert budget(SearchRequest(1, STARTPOS, nodes=4000), 1e6) == 4000
    assert budget(SearchRequest(1, STARTPOS, soft_ms=500, hard_ms=3000), 1e6) == 500_000
    assert budget(SearchRequest(1, STARTPOS, hard_ms=3000), 1e6) == 3_000_000
    assert budget(SearchRequest(1, STARTPOS), 1e6) > 1e6


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    again = replace(SPLIT, elo=None, low=200.0, high=None)
    write_table(path, [*TABLE, again])
    found = read_table(path)
    assert set(found) == {again, *TABLE[1:]}, "of two measurements of one strategy, the later one counts"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"strategy": "flat"}, r"no strategy 'flat'.* - at `\$.points\[0\]`"),
        ({"strategy": "auto"}, "no other nodes"),
        ({"strategy": "consult:majority+depths=0"}, "no other nodes"),
        ({"nodes": 0}, r">= 1 - at `\$.points\[0\].nodes`"),
        ({"budget": "4000"}, r"got `str` - at `\$.points\[0\].budget`"),
        ({"elo": "high"}, r"got `str` - at `\$.points\[0\].elo`"),
    ],
)
def test_a_fault_in_a_table_is_reported(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"points": [{**asdict(SPLIT), **change}]}))
    with pytest.raises(TableError, match=words):
        read_table(path)


@pytest.mark.parametrize("text", ["", "[]", '{"points": 3}', "{"])
def test_an_invalid_table_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(TableError, match=r"table\.json"):
        read_table(path)
    with pytest.raises(TableError, match="missing"):
        read_table(tmp_path / "missing.json")
