"""The options of the single engine and of the fleet beside each other."""

from __future__ import annotations

import re
from dataclasses import replace

from cluster.network.messages import LONGEST_GAME, MAX_MULTIPV
from master.config import Config
from master.usi.options import FleetOptions, FleetPlan
from tests.master.command import ROOT
from tests.master.usi.bench import PLAN
from worker.score import MAX_PLY
from worker.usi.options import EMPTY, OPTIONS, PLAY_OPTIONS

ALONE = {
    "EvalDir",
    "Stochastic_Ponder",
    "GenerateAllLegalMoves",
    "RootMateSearchNodesLimit",
}
"""Options of the single engine alone; ``docs/reference/usi.md`` says why the fleet has none of them."""
TOGETHER = {"Nodes", "Mode", "Vote"}
OTHERWISE = {"Threads", "EnteringKingRule"}
"""Options of both: 0 means a node's share of the processors in the fleet; and a fleet knows no `TryRule`."""


def test_an_option_of_both_has_one_default_and_one_range() -> None:
    engine = Config().engine
    plan = replace(
        PLAN,
        hash_mb=engine.hash_mb,
        eval_file=engine.eval_file,
        fv_scale=engine.fv_scale,
    )
    fleet = FleetOptions(plan).table
    assert set(OPTIONS) - set(fleet) == ALONE
    assert set(fleet) - set(OPTIONS) == TOGETHER
    for name in set(fleet) & set(OPTIONS) - OTHERWISE:
        assert fleet[name] == OPTIONS[name], name
    assert replace(fleet["Threads"], default="1", least=1) == OPTIONS["Threads"]
    rules = fleet["EnteringKingRule"].choices
    assert replace(fleet["EnteringKingRule"], choices=(*rules, "TryRule")) == OPTIONS["EnteringKingRule"]


def test_what_an_option_allows_can_go_to_the_nodes() -> None:
    assert PLAY_OPTIONS["MultiPV"].most <= MAX_MULTIPV
    assert PLAY_OPTIONS["MaxMovesToDraw"].most <= LONGEST_GAME
    assert PLAY_OPTIONS["DepthLimit"].most <= 4 * MAX_PLY


def test_the_page_has_every_option_with_its_default_and_range() -> None:
    page = (ROOT / "docs" / "reference" / "usi.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| .+ \|$", page.partition("## Options")[2], re.MULTILINE)
    cluster, engine = Config().cluster, Config().engine
    plan = FleetPlan(1, engine.hash_mb, 0, engine.eval_file, engine.fv_scale, cluster.mode, cluster.vote)
    options = {**FleetOptions(plan).table, **OPTIONS}
    assert len(rows) == len(options)
    for name, default, limits in rows:
        option = options[name]
        assert (default == "empty") == (option.default == EMPTY)
        if name == "Threads":
            assert (default, limits) == ("0; 1 for the single engine", "0 to 512; 1 to 512")
        elif option.kind == "spin":
            assert (default, limits) == (f"{int(option.default):,}", f"{option.least:,} to {option.most:,}"), name
        else:
            assert limits == ", ".join(f"`{choice}`" for choice in option.choices), name
            assert default in (option.default, "empty"), name
