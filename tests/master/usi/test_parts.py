"""Options, lines and charges of the fleet's USI front."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from cluster.api import NodeView, Progress
from cluster.network.messages import LONGEST_GAME, MAX_MULTIPV
from master.config import Config
from master.usi.options import FleetOptions, FleetPlan
from master.usi.report import Reporter, info_lines, vote_line
from tests.answers import make_ballot, root_line
from tests.master.command import ROOT
from tests.master.usi.bench import PLAN, Bench
from worker.score import MAX_PLY, mated_in
from worker.usi.options import EMPTY, OPTIONS, PLAY_OPTIONS


class TestOptions:
    def test_the_configuration_gives_the_defaults(self) -> None:
        plan = replace(PLAN, nodes=5, mode="tiers", eval_file="/nets/nn.bin")
        options = FleetOptions(plan)
        assert options.plan == plan
        assert options.table["EvalFile"].line("EvalFile") == "option name EvalFile type filename default /nets/nn.bin"
        options.set("EvalFile", "<empty>")
        assert options.plan.eval_file == ""

    def test_a_folder_comes_before_the_file_of_the_configuration(self) -> None:
        options = FleetOptions(replace(PLAN, eval_file="/nets/nn.bin"))
        options.set("EvalDir", "eval")
        assert options.plan.eval_file == "eval"
        options.set("EvalFile", "kp.bin")
        options.set("EvalArchitecture", "kp_256x2-32-32")
        assert (options.plan.eval_file, options.plan.architecture) == ("eval/kp.bin", "kp_256x2-32-32")


def view(node: str, move: str, **fields: object) -> NodeView:
    return replace(NodeView(node, True, "all", 9, 5, 1000, 40, (move,)), **fields)  # type: ignore[arg-type]


class TestReport:
    LINES = (root_line(34, 12, ("7g7f", "3c3d")), root_line(mated_in(4), 11, ("2g2f",)))

    def test_the_whole_fleet_in_one_line(self) -> None:
        fleet = [
            view("a", "7g7f", seldepth=20, hashfull=300),
            view("b", "2g2f", seldepth=31, hashfull=100),
            view("c", "7g7f", alive=False, nps=7, hashfull=900),
        ]
        assert info_lines(self.LINES, 5000, 250, fleet) == [
            "info depth 12 seldepth 20 multipv 1 score cp 34 nodes 5000 nps 80 hashfull 200 time 250 pv 7g7f 3c3d",
            "info depth 11 seldepth 31 multipv 2 score mate -4 nodes 5000 nps 80 hashfull 200 time 250 pv 2g2f",
        ]

    def test_lines_come_at_intervals_and_only_with_news(self) -> None:
        reporter = Reporter(300)
        progress = Progress(search_id=1, nodes=9, lines=self.LINES[:1])
        other = replace(progress, lines=self.LINES[1:])
        assert reporter.progress(progress, 0)
        assert not reporter.progress(other, 299)
        assert reporter.progress(other, 300)
        assert not reporter.progress(other, 700)
        assert reporter.progress(other, 1300), "its nodes and time go on"
        assert not reporter.progress(replace(progress, lines=()), 9999)

    def test_votes(self) -> None:
        ballots = [
            make_ballot("a", "7g7f", 5, 9),
            make_ballot("g", "2g2f", 5, 9, members=2),
            make_ballot("b", "7g7f", 1, 1),
        ]
        assert vote_line(ballots) == "info string vote 7g7f 2/4 2g2f 2/4"
        assert vote_line(ballots[:1]) == ""
        assert vote_line([]) == ""


ALONE = {"Stochastic_Ponder", "GenerateAllLegalMoves", "RootMateSearchNodesLimit"}
"""Options of the single engine alone; ``docs/reference/usi.md`` says why the fleet has none of them."""
TOGETHER = {"Nodes", "Mode"}
OTHERWISE = {"Threads", "EnteringKingRule"}
"""Options of both: 0 means a node's share of the processors in the fleet; and a fleet knows no `TryRule`."""


def test_an_option_of_both_has_one_default_and_one_range() -> None:
    engine = Config().engine
    plan = replace(
        PLAN,
        hash_mb=engine.hash_mb,
        eval_file=engine.eval_file,
        fv_scale=engine.fv_scale,
        architecture=engine.eval_architecture,
    )
    fleet = FleetOptions(plan).table
    assert set(OPTIONS) - set(fleet) == ALONE
    assert set(fleet) - set(OPTIONS) == TOGETHER
    for name in set(fleet) & set(OPTIONS) - OTHERWISE:
        assert fleet[name] == OPTIONS[name], name
    assert replace(fleet["Threads"], default="1", least=1) == OPTIONS["Threads"]
    rules = fleet["EnteringKingRule"].choices
    assert replace(fleet["EnteringKingRule"], choices=(*rules, "TryRule")) == OPTIONS["EnteringKingRule"]


def test_every_allowed_option_value_can_go_to_the_nodes() -> None:
    assert PLAY_OPTIONS["MultiPV"].most <= MAX_MULTIPV
    assert PLAY_OPTIONS["MaxMovesToDraw"].most <= LONGEST_GAME
    assert PLAY_OPTIONS["DepthLimit"].most <= 4 * MAX_PLY


def test_the_page_has_every_option_with_its_default_and_range() -> None:
    page = (ROOT / "docs" / "reference" / "usi.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| .+ \|$", page.partition("## Options")[2], re.MULTILINE)
    cluster, engine = Config().cluster, Config().engine
    plan = FleetPlan(1, engine.hash_mb, 0, engine.eval_file, engine.fv_scale, engine.eval_architecture, cluster.mode)
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


class Clock:
    """A GUI's clock and the way to it, which take ``delay_ms`` more of each move than we do."""

    def __init__(self, delay_ms: int, total_ms: int, increment_ms: int = 0, byoyomi_ms: int = 0, unit_ms: int = 1):
        self.delay_ms = delay_ms
        self.left_ms, self.increment_ms, self.byoyomi_ms, self.unit_ms = total_ms, increment_ms, byoyomi_ms, unit_ms
        self.bench = Bench()
        self.moves: list[str] = []
        self._shuffle = itertools.cycle(("2h3h", "8b7b", "3h2h", "7b8b"))

    def move(self, lag_ms: float = 5) -> float:
        """One move of ours, ``lag_ms`` after the soft time, and one of the opponent's. Returns the rest of the clock;
        below 0 the flag has fallen."""
        bench = self.bench
        times = f"btime {self.left_ms} wtime 60000"
        times += f" byoyomi {self.byoyomi_ms}" if self.byoyomi_ms else f" binc {self.increment_ms} winc 1000"
        bench.send(
            f"position startpos moves {' '.join(self.moves)}" if self.moves else "position startpos", f"go {times}"
        )
        began = bench.now
        bench.now += min(bench.request.soft_ms + lag_ms, bench.request.hard_ms)
        ours = next(self._shuffle)
        bench.decide(ours)
        charged = (bench.now - began + self.delay_ms) // self.unit_ms * self.unit_ms
        left = self.left_ms + self.increment_ms + self.byoyomi_ms - charged
        self.left_ms = int(max(0, self.left_ms + self.increment_ms - charged))
        self.moves += [ours, next(self._shuffle)]
        return left


@pytest.mark.parametrize("increment_ms", [1000, 1500])
def test_a_slow_way_to_the_clock_does_not_lose_the_game(increment_ms: int) -> None:
    """A GUI over a network that counts milliseconds: each move costs 0.7 s more than we take."""
    clock = Clock(700, 20_001, increment_ms)
    assert min(clock.move() for _ in range(120)) > 0


def test_lessons_of_main_time_hold_in_byoyomi() -> None:
    clock = Clock(2_600, 90_000, byoyomi_ms=6_000, unit_ms=1000)
    assert min(clock.move() for _ in range(60)) > 0
    assert clock.left_ms == 0, "or this shows nothing"


def test_lessons_hold_in_the_next_game() -> None:
    clock = Clock(900, 60_001, 1000)
    bench = clock.bench
    bench.send("position startpos", "go btime 0 wtime 0 byoyomi 8000")
    before = bench.request.hard_ms
    bench.decide("7g7f")
    for _ in range(30):
        clock.move()
    bench.send("usinewgame", "position startpos", "go btime 0 wtime 0 byoyomi 8000")
    assert bench.request.hard_ms <= before - 500


def test_a_least_thinking_time_is_no_delay() -> None:
    clock = Clock(0, 600_001, 1000)
    clock.bench.send("setoption name MinimumThinkingTime value 9000")
    for _ in range(20):
        clock.move(0)
    clock.bench.send("setoption name MinimumThinkingTime value 0")
    assert clock.bench.front._thinking._clock.charges.delays(120).usual_ms == 120
