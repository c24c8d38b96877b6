"""The options of the single engine and of the fleet beside each other."""

from __future__ import annotations

from dataclasses import replace

from cluster.network.messages import LONGEST_GAME, MAX_MULTIPV
from master.config import Config
from master.usi.options import FleetOptions
from tests.master.usi.bench import PLAN
from worker.score import MAX_PLY
from worker.usi.options import OPTIONS, PLAY_OPTIONS

ALONE = {
    "EvalDir",
    "Stochastic_Ponder",
    "EnteringKingRule",
    "GenerateAllLegalMoves",
    "RootMateSearchNodesLimit",
}
"""Options of the single engine alone; ``docs/reference/usi.md`` says why the fleet has none of them."""
TOGETHER = {"Nodes", "Mode", "Vote"}
OTHERWISE = {"Threads"}
"""An option of both that means a node's share of the processors where the fleet's is 0."""


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


def test_what_an_option_allows_can_go_to_the_nodes() -> None:
    assert PLAY_OPTIONS["MultiPV"].most <= MAX_MULTIPV
    assert PLAY_OPTIONS["MaxMovesToDraw"].most <= LONGEST_GAME
    assert PLAY_OPTIONS["DepthLimit"].most <= 4 * MAX_PLY
