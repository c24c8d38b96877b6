"""The parts of the USI front: its options, the limits of a search, and what is shown."""

from __future__ import annotations

from dataclasses import replace

from cluster.api import NodeView, Progress
from master.usi.options import FleetOptions
from master.usi.report import Reporter, info_lines, vote_line
from tests.answers import make_ballot, root_line
from tests.master.usi.bench import PLAN
from worker.score import mated_in


class TestOptions:
    def test_the_configuration_gives_the_defaults(self) -> None:
        plan = replace(PLAN, nodes=5, mode="tiers", eval_file="/nets/nn.bin")
        options = FleetOptions(plan)
        assert options.plan == plan
        assert options.table["EvalFile"].line("EvalFile") == "option name EvalFile type filename default /nets/nn.bin"
        options.set("EvalFile", "<empty>")
        assert options.plan.eval_file == ""

    def test_machines_that_are_there_have_a_number_of_their_own(self) -> None:
        options = FleetOptions(PLAN, own_fleet=False)
        assert "Nodes" not in options.table
        assert options.plan == PLAN

    def test_delays(self) -> None:
        options = FleetOptions(PLAN)
        options.set("NetworkDelay", "200")
        options.set("NetworkDelay2", "900")
        assert (options.time_options.clock.network_margin_ms, options.time_options.clock.most_reserve_ms) == (200, 700)
        options.set("NetworkDelay2", "100")
        assert options.time_options.clock.most_reserve_ms == 0


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

    def test_what_is_not_known_is_left_out(self) -> None:
        assert info_lines(self.LINES[:1], 500, 250) == [
            "info depth 12 multipv 1 score cp 34 nodes 500 nps 2000 time 250 pv 7g7f 3c3d"
        ]

    def test_lines_come_at_intervals_and_only_where_they_say_something(self) -> None:
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
