"""The parts of the USI front: its options, the time of a move, and what is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import Ballot, Known, NodeView, Progress, RootLine, SearchRequest
from master.usi.options import FleetOptions
from master.usi.report import Reporter, info_lines, vote_line
from master.usi.timing import Habits, Turn, bounded
from tests.master.usi.bench import PLAN
from worker.clock import ClockSettings
from worker.score import mated_in
from worker.shogi import STARTPOS, Position

HABITS = Habits(ClockSettings(network_margin_ms=100, most_reserve_ms=0))
REQUEST = SearchRequest(1, STARTPOS)


def turn(
    habits: Habits = HABITS, gone: float = 0, known_ms: int = 0, moves: tuple[str, ...] = (), **numbers: int
) -> Turn:
    position = Position.startpos()
    position.push_all(moves)
    known = Known("2g2f", 30, 9, 1000, 1.0, known_ms, known_ms) if known_ms else None
    found = Turn.of(numbers, position, habits, began_ms=50, now_ms=50 + gone, known=known)
    assert found is not None
    return found


def progress(elapsed_ms: int, move: str, agreement: float = 1.0) -> Progress:
    return Progress(1, elapsed_ms, 9, 30, (move,), 1000, agreement=agreement)


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
        assert (options.clock.network_margin_ms, options.clock.most_reserve_ms) == (200, 700)
        options.set("NetworkDelay2", "100")
        assert options.clock.most_reserve_ms == 0


class TestTiming:
    def test_no_words_of_time(self) -> None:
        assert Turn.of({"nodes": 5}, Position.startpos(), HABITS, began_ms=0, now_ms=0, known=None) is None

    def test_each_side_has_its_own_time(self) -> None:
        assert turn(btime=1000, wtime=60_000).hard_ms <= 900
        assert turn(btime=1000, wtime=60_000, moves=("7g7f",)).hard_ms > 900

    def test_byoyomi_is_used_to_its_end(self) -> None:
        found = turn(btime=0, wtime=0, byoyomi=3000)
        assert 2000 < found.soft_ms <= found.hard_ms <= 2900

    def test_the_increment_is_there_for_the_move(self) -> None:
        """As USI has it: the GUI's time is that before it is added."""
        assert 0 < turn(btime=0, wtime=0, binc=2000, winc=2000).hard_ms <= 1900

    @pytest.mark.parametrize("known_ms", [0, 5000])
    @pytest.mark.parametrize("numbers", [{"btime": 1550}, {"btime": 0, "byoyomi": 999}, {"btime": 10, "binc": 10}])
    def test_milliseconds_are_not_rounded_up(self, numbers: dict[str, int], known_ms: int) -> None:
        found = turn(known_ms=known_ms, **numbers)
        assert found.soft_ms <= found.hard_ms
        assert found.hard_ms <= max(20, sum(numbers.values()) - 100)

    def test_a_move_may_have_a_least_time_within_the_limit(self) -> None:
        slow = replace(HABITS, least_ms=5000)
        assert turn(btime=60_000).soft_ms < 5000
        assert turn(slow, btime=60_000).soft_ms == min(5000, turn(btime=60_000).hard_ms)
        short = turn(slow, btime=1000)
        assert short.soft_ms == short.hard_ms

    def test_agreement(self) -> None:
        found = turn(btime=60_000)
        found.reconsidered(progress(100, "2g2f"))
        agreed = found.soft_ms
        assert found.reconsidered(progress(200, "2g2f", agreement=0.2))
        assert agreed < found.soft_ms <= found.hard_ms
        assert found.reconsidered(progress(300, "2g2f"))
        assert found.soft_ms == agreed
        assert not turn(movetime=500).reconsidered(progress(100, "2g2f", agreement=0.1))

    def test_a_move_that_changes_late_gets_more_time_than_one_that_stays(self) -> None:
        steady, changed = turn(btime=60_000), turn(btime=60_000)
        for elapsed_ms in (100, 200, 400):
            steady.reconsidered(progress(elapsed_ms, "2g2f"))
            changed.reconsidered(progress(elapsed_ms, "2g2f" if elapsed_ms < 400 else "7g7f"))
        assert steady.soft_ms < changed.soft_ms

    def test_no_time_at_all_is_no_search_without_end(self) -> None:
        assert turn(movetime=0).hard_ms == 1
        assert turn(movetime=300, gone=400).hard_ms == 1
        assert turn(btime=0, wtime=0).hard_ms > 0

    def test_the_order_goes_before_the_options(self) -> None:
        habits = replace(HABITS, nodes=900, depth=9)
        assert bounded(REQUEST, {}, habits, 3) == replace(REQUEST, nodes=300, depth=9)
        assert bounded(REQUEST, {"nodes": 10, "depth": 3}, habits, 3) == replace(REQUEST, nodes=3, depth=3)
        assert bounded(REQUEST, {}, HABITS, 3) == REQUEST
        assert bounded(REQUEST, {"nodes": 2}, HABITS, 3).nodes == 1


def view(node: str, move: str, **fields: object) -> NodeView:
    return replace(NodeView(node, True, "all", 9, 5, 1000, 40, (move,)), **fields)  # type: ignore[arg-type]


class TestReport:
    LINES = (RootLine(34, 12, ("7g7f", "3c3d")), RootLine(mated_in(4), 11, ("2g2f",)))

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
        progress = Progress(1, 0, 12, 34, ("7g7f",), 9, (), 1.0, self.LINES[:1])
        other = replace(progress, lines=self.LINES[1:])
        assert reporter.progress(progress, 0)
        assert not reporter.progress(other, 299)
        assert reporter.progress(other, 300)
        assert not reporter.progress(other, 700)
        assert reporter.progress(other, 1300), "its nodes and time go on"
        assert not reporter.progress(replace(progress, lines=()), 9999)

    def test_votes(self) -> None:
        ballots = [Ballot("a", "7g7f", 5, 9), Ballot("g", "2g2f", 5, 9, members=2), Ballot("b", "7g7f", 1, 1)]
        assert vote_line(ballots) == "info string vote 7g7f 2/4 2g2f 2/4"
        assert vote_line(ballots[:1]) == ""
        assert vote_line([]) == ""
