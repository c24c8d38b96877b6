"""The coordinator, event by event: no network, no clock, no engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from cluster.api import Decision, PonderSearch, Progress, RetimeSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost, Received, SendJob, StopNode
from cluster.coordination.settings import Mode
from cluster.coordination.states import CoordinatorState
from cluster.network.messages import Heartbeat, Report
from tests.cluster.coordination.bench import DECLARABLE, MATED, ONE_MOVE, SETTINGS, TIMED, Bench
from worker.engine import Bound
from worker.score import mate_in
from worker.shogi import STARTPOS, Position


class TestForced:
    @pytest.mark.parametrize(
        ("sfen", "move"), [(MATED, "resign"), (ONE_MOVE, "9a9b"), (DECLARABLE, "win")], ids=["mated", "one", "declare"]
    )
    def test_needs_no_search(self, sfen: str, move: str) -> None:
        bench = Bench()
        bench.feed(StartSearch(SearchRequest(1, sfen, soft_ms=1000, hard_ms=2000)))
        assert [decision.move for decision in bench.decisions] == [move]
        assert bench.decisions[0].source == "forced"
        assert (bench.decisions[0].pv, bench.decisions[0].score) == ((), None), "no search supports it"
        assert not bench.jobs
        assert not bench.coordinator.searching

    def test_an_analysis_of_the_only_move_is_a_search(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(SearchRequest(1, ONE_MOVE)))
        assert bench.job("n1").search_id == 1
        bench.feed(StopSearch(1))
        bench.tick(100)
        assert bench.decisions[0].move == "9a9b"


class TestPhases:
    def test_presearch_then_best_move_against_the_others(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        for node_id in ("n1", "n2"):
            job = bench.job(node_id)
            assert (job.searchmoves, job.ignoremoves, job.multipv) == ((), (), 1)
            assert job.movetime_ms == 2990
        bench.report("n2", 6, 10, "2g2f")
        bench.report("n1", 5, 30, "7g7f")
        assert bench.coordinator.wake_ms(bench.now) == 1100
        bench.tick(100)
        assert bench.job("n1").searchmoves == ("2g2f",)
        assert bench.job("n2").ignoremoves == ("2g2f",)
        assert bench.job("n2").movetime_ms == 2890

    def test_multipv_ranks_the_moves_of_many_nodes(self) -> None:
        bench = Bench(4)
        bench.feed(StartSearch(TIMED))
        assert bench.job("n3").multipv == 3
        for rank, move in enumerate(("5g5f", "7g7f", "2g2f"), 1):
            bench.report("n3", 4, 40 - rank, move, multipv=rank)
        bench.tick(100)
        moves = [bench.job(f"n{number}").searchmoves for number in (1, 2, 3, 4)]
        assert moves == [("5g5f",), ("7g7f",), ("2g2f",), ()]
        assert bench.job("n4").ignoremoves == ("5g5f", "7g7f", "2g2f")

    def test_a_small_budget_or_a_single_node_consults(self) -> None:
        for bench, request in (
            (Bench(2), replace(TIMED, soft_ms=300)),
            (Bench(1), TIMED),
            (Bench(2), SearchRequest(1, STARTPOS, nodes=500)),
            (Bench(2, replace(SETTINGS, mode=Mode.CONSULT)), TIMED),
        ):
            bench.feed(StartSearch(request))
            assert bench.events("search_started")[0]["phase"] == "consult"
            assert bench.job("n1").searchmoves == ()

    def test_the_presearch_waits_for_a_first_line(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        bench.tick(300)
        assert not bench.events("dealt")
        bench.report("n1", 1, 0, "7g7f")
        assert bench.events("dealt")

    def test_a_presearch_that_brings_nothing_ends_in_consultation(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        first = bench.job("n1").job_id
        bench.done("n1")
        bench.done("n2")
        assert bench.job("n1").job_id > first
        bench.report("n1", 3, 5, "7g7f")
        bench.tick(1000)
        assert bench.decisions[0].source == "vote"

    def test_node_budgets_are_kept_over_both_phases(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, nodes=10_000)))
        assert bench.job("n1").nodes == 1000
        bench.report("n1", 3, 20, "7g7f")
        bench.done("n1", 1000)
        bench.done("n2", 990)
        assert (bench.job("n1").nodes, bench.job("n2").nodes) == (9000, 9010)
        bench.report("n2", 4, 25, "2g2f")
        bench.done("n1", 9000)
        assert not bench.decisions
        bench.done("n2", 9010)
        assert bench.decisions[0].nodes == 20_000
        assert bench.decisions[0].source == "split"

    def test_depth_limits(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(SearchRequest(1, STARTPOS, depth=9)))
        assert bench.job("n1").depth == 4
        bench.report("n1", 4, 20, "7g7f")
        bench.done("n1")
        bench.done("n2")
        assert bench.job("n1").depth == 9


class TestDecision:
    def test_soft_time(self) -> None:
        bench = Bench()
        bench.split()
        bench.tick(699)
        assert not bench.decisions
        bench.tick(1)
        decision = bench.decisions[0]
        assert (decision.move, decision.score, decision.source) == ("7g7f", 30, "split")
        assert (decision.elapsed_ms, decision.pv) == (1000, ("7g7f", "3c3d"))
        assert [ballot.voter for ballot in decision.ballots] == ["split"]
        assert bench.jobs == {"n1": None, "n2": None}
        assert bench.tick(5000) == []

    def test_the_presearch_holds_until_a_leaf_is_as_deep(self) -> None:
        bench = Bench()
        bench.split()
        bench.report("n1", 3, -400, "7g7f")
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].score, bench.decisions[0].depth) == (30, 5)

    def test_the_majority_decides(self) -> None:
        bench = Bench(3, replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 9, 10, "7g7f")
        bench.report("n2", 9, 90, "2g2f")
        bench.report("n3", 9, 12, "7g7f")
        bench.tick(1000)
        decision = bench.decisions[0]
        assert (decision.move, decision.source) == ("7g7f", "vote")
        assert [ballot.voter for ballot in decision.ballots] == ["n1", "n2", "n3"]
        assert [ballot.nodes for ballot in decision.ballots] == [900, 900, 900]
        assert decision.agreement == pytest.approx(2 / 3)
        assert bench.events("decided")[0]["agreement"] == pytest.approx(2 / 3, abs=0.01)

    @pytest.mark.parametrize(("fast", "slow", "move"), [(140, 2, "7g7f"), (400, 2, "2g2f"), (400, 3, "7g7f")])
    def test_a_fast_node_counts_more_in_the_vote(self, fast: int, slow: int, move: str) -> None:
        bench = Bench(0, replace(SETTINGS, mode=Mode.CONSULT))
        bench.feed(NodeJoined("fast", nps=fast))
        names = [f"slow{number}" for number in range(slow)]
        for name in names:
            bench.feed(NodeJoined(name, nps=100))
        bench.feed(StartSearch(TIMED))
        bench.report("fast", 11, 20, "2g2f")
        for name in names:
            bench.report(name, 9, 10, "7g7f")
        bench.tick(1000)
        assert bench.decisions[0].move == move
        assert [ballot.members for ballot in bench.decisions[0].ballots] == [1] * (slow + 1)

    def test_a_proven_mate_is_played_at_once(self) -> None:
        bench = Bench()
        bench.split()
        bench.report("n2", 4, mate_in(7), "2g2f")
        assert not bench.decisions
        bench.report("n2", 7, mate_in(7), "2g2f")
        assert bench.decisions[0].move == "2g2f"

    def test_an_analysis_ends_by_stop_only(self) -> None:
        bench = Bench()
        bench.split(SearchRequest(1, STARTPOS))
        bench.report("n2", 9, mate_in(7), "2g2f")
        bench.done("n1")
        bench.done("n2")
        bench.tick(1_000_000)
        assert not bench.decisions
        bench.feed(StopSearch(1))
        assert bench.decisions[0].move == "2g2f"

    def test_all_jobs_over_ends_the_search_early(self) -> None:
        bench = Bench()
        bench.split()
        bench.done("n1")
        assert not bench.decisions
        bench.done("n2")
        assert bench.decisions[0].elapsed_ms == 300

    def test_a_stop_with_nothing_known_waits_a_moment(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        bench.feed(StopSearch(1))
        assert not bench.decisions
        bench.report("n2", 1, 5, "2g2f")
        assert bench.decisions[0].move == "2g2f"

    def test_a_stop_with_nothing_known_and_nobody_there_does_not_wait(self) -> None:
        bench = Bench(0)
        bench.feed(StartSearch(TIMED))
        bench.feed(StopSearch(1))
        assert (bench.decisions[0].score, bench.decisions[0].source) == (None, "none")
        assert Position.startpos().parse_usi(bench.decisions[0].move)

    def test_the_soft_time_can_be_moved(self) -> None:
        for soft_ms, more in ((1500, 500), (5000, 1990)):
            bench = Bench()
            bench.split()
            bench.feed(RetimeSearch(1, soft_ms))
            bench.tick(700)
            bench.tick(more - 1)
            assert not bench.decisions
            bench.tick(1)
            assert len(bench.decisions) == 1

    def test_a_soft_time_that_is_over_decides_at_once(self) -> None:
        bench = Bench()
        bench.split()
        bench.feed(RetimeSearch(0, 100))
        assert not bench.decisions
        bench.feed(RetimeSearch(1, 100))
        assert bench.decisions[0].move == "7g7f"

    def test_neither_an_analysis_nor_a_stopped_search_can_be_moved(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(SearchRequest(1, STARTPOS)))
        bench.report("n1", 5, 30, "7g7f")
        bench.feed(RetimeSearch(1, 0))
        assert not bench.decisions
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        bench.feed(StopSearch(1))
        bench.feed(RetimeSearch(1, 900))
        bench.tick(100)
        assert len(bench.decisions) == 1

    def test_a_new_start_decides_the_running_search(self) -> None:
        bench = Bench()
        bench.split()
        bench.feed(StartSearch(replace(TIMED, search_id=2)))
        assert [decision.search_id for decision in bench.decisions] == [1]
        assert bench.job("n1").search_id == 2


class TestBorder:
    def test_late_and_foreign_reports_change_nothing(self) -> None:
        bench = Bench()
        bench.feed(StartSearch(TIMED))
        presearch = bench.job("n1")
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(300)
        job = bench.job("n1")
        late = Report("n1", 1, presearch.job_id, 30, 30, 999, Bound.EXACT, 1, 1, 0, ("2g2f",))
        for report in (
            late,
            structs.replace(late, job_id=job.job_id, search_id=0),
            structs.replace(late, job_id=job.job_id, search_id=2),
            structs.replace(late, job_id=job.job_id, node_id="n2"),
            structs.replace(late, job_id=job.job_id, node_id="stranger"),
            structs.replace(late, job_id=job.job_id + 100),
        ):
            assert bench.feed(Received(report)) == []
        bench.feed(StopSearch(1))
        assert bench.decisions[0].score == 30
        assert bench.feed(Received(structs.replace(late, job_id=job.job_id))) == []

    def test_moves_that_are_not_the_jobs_are_refused(self) -> None:
        bench = Bench()
        bench.split()
        bench.report("n1", 20, 999, "2g2f")
        assert bench.events("report_refused")
        bench.report("n2", 20, 999, "7g7f")
        assert bench.events("report_refused")
        bench.report("n2", 20, 999, "7g7e")
        assert bench.events("report_refused")
        bench.feed(StopSearch(1))
        assert bench.decisions[0].move == "7g7f"

    def test_a_variation_is_cut_at_its_first_illegal_move(self) -> None:
        bench = Bench()
        bench.split()
        bench.report("n1", 20, 99, "7g7f", "3c3d", "3c3d")
        assert bench.events("pv_cut") == [{"node": "n1", "at": 2, "move": "3c3d"}]
        bench.feed(StopSearch(1))
        assert bench.decisions[0].pv == ("7g7f", "3c3d")

    def test_a_node_that_talks_nonsense_is_left_out(self) -> None:
        bench = Bench()
        bench.split()
        for _ in range(SETTINGS.refusals):
            bench.report("n1", 20, 99, "1a1b")
        assert bench.events("job_failed")
        assert bench.jobs["n1"] is None
        assert bench.job("n2").ignoremoves == ()

    @pytest.mark.parametrize(
        "request_",
        [
            replace(TIMED, sfen="nonsense"),
            replace(TIMED, moves=("7g7f", "7g7f")),
            replace(TIMED, search_id=0),
            replace(TIMED, hard_ms=None),
            replace(TIMED, soft_ms=-1),
            SearchRequest(9, STARTPOS, nodes=0),
            SearchRequest(9, STARTPOS, depth=0),
        ],
    )
    def test_a_bad_request_changes_nothing(self, request_: SearchRequest) -> None:
        bench = Bench()
        bench.feed(StartSearch(replace(TIMED, search_id=0)))
        with pytest.raises(ValueError, match=r"\w"):
            bench.coordinator.handle(StartSearch(request_), bench.now)
        bench.report("n1", 5, 30, "7g7f")
        bench.tick(5000)
        assert [decision.search_id for decision in bench.decisions] == [0]

    def test_a_lost_job_is_sent_again(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        job = bench.job("n1")
        bench.feed(Received(Heartbeat("n1", "x", 0, True)), 300)
        assert not bench.events("job_resent")
        bench.feed(Received(Heartbeat("n1", "x", 0, True)), 200)
        assert bench.events("job_resent")
        assert bench.job("n1") is job
        bench.feed(Received(Heartbeat("n1", "x", job.job_id, False)), 500)
        assert not bench.events("job_resent")

    def test_a_lost_done_is_noticed(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 5, 30, "7g7f")
        bench.feed(Received(Heartbeat("n1", "x", bench.job("n1").job_id, True)), 500)
        assert len(bench.decisions) == 1

    def test_a_lost_stop_is_sent_again(self) -> None:
        bench = Bench(1)
        assert bench.feed(Received(Heartbeat("n1", "x", 7, False))) == [StopNode("n1", 7)]
        assert bench.feed(Received(Heartbeat("n1", "x", 7, True))) == []


def test_a_search_is_reported_though_nothing_changes() -> None:
    """Each report is a chance to change its time: a change of the best move fades."""
    bench = Bench(1)
    bench.feed(StartSearch(replace(TIMED, soft_ms=20_000, hard_ms=60_000)))
    assert not [i for _ in range(30) for i in bench.tick(100) if isinstance(i, Progress)]
    bench.report("n1", 5, 30, "7g7f")
    bench.tick(100)
    told = [i for _ in range(30) for i in bench.tick(100) if isinstance(i, Progress)]
    assert len(told) in (2, 3)
    wake_ms = bench.coordinator.wake_ms(bench.now)
    assert wake_ms is not None and wake_ms <= bench.now + 1000


def test_progress_is_published_at_most_ten_times_a_second() -> None:
    bench = Bench()
    bench.split()
    published = []
    for depth in range(6, 106):
        published += [i for i in bench.report("n1", depth, depth, "7g7f") if isinstance(i, Progress)]
        published += [i for i in bench.tick(5) if isinstance(i, Progress)]
    assert 4 <= len(published) <= 6
    progress = published[-1]
    assert (progress.search_id, progress.pv) == (1, ("7g7f",))
    assert [(view.node_id, view.job) for view in progress.fleet] == [("n1", "7g7f"), ("n2", "others")]


def test_the_last_events_and_instructions() -> None:
    bench = Bench(2)
    bench.feed(StartSearch(TIMED))
    job = bench.job("n2")
    said = [*bench.report("n2", 5, 30, "7g7f"), *bench.tick(200)]
    assert any(isinstance(what, Progress) for what in said)
    bench.feed(NodeLost("n2", "its process died"), 40)
    lost_ms = bench.now
    bench.done("n1", 5000)
    bench.feed(StopSearch(TIMED.search_id), 100)
    history = bench.coordinator.history
    assert SendJob("n2", job) in [what for _, what in history]
    assert (lost_ms, NodeLost("n2", "its process died")) in history
    assert [what for _, what in history if isinstance(what, Decision)]
    assert not [what for _, what in history if isinstance(what, Progress)], "there are too many of them"
    for _ in range(60):
        bench.feed(NodeJoined("n2"))
        bench.feed(NodeLost("n2", "its process died"))
    assert len(bench.coordinator.history) == 50


def test_its_state_names_the_running_search() -> None:
    bench = Bench(2)
    states = [bench.coordinator.state]
    ponder = PonderSearch(replace(TIMED, search_id=2, moves=("7g7f",), soft_ms=None, hard_ms=None))
    hit = StartSearch(replace(TIMED, search_id=3, moves=("7g7f", "3c3d")))
    for event in (StartSearch(TIMED), StopSearch(TIMED.search_id), ponder, hit):
        bench.feed(event)
        states.append(bench.coordinator.state)
        if event == StartSearch(TIMED):
            bench.report("n1", 9, 30, "7g7f", "3c3d", multipv=1)
    idle, searching, pondering = CoordinatorState.IDLE, CoordinatorState.SEARCHING, CoordinatorState.PONDERING
    assert states == [idle, searching, idle, pondering, searching]
