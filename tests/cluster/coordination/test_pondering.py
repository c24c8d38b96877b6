"""Multi-ponder, event by event: the nodes' ponder moves, a hit, a miss, losses and joins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.api import Pondered, PonderSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import FALLBACK, NodeJoined, NodeLost
from cluster.coordination.pondering import likelihoods, seats_by_weight
from cluster.coordination.settings import Mode, Settings
from cluster.split.tree import TreeLine
from tests.answers import make_known
from tests.cluster.coordination.bench import DECLARABLE, MATED, SETTINGS, TIMED, Bench
from worker.engine import Bound
from worker.score import mate_in, mated_in
from worker.shogi import STARTPOS

PONDER = SearchRequest(2, STARTPOS, ("7g7f",))
HIT = replace(TIMED, search_id=3, moves=("7g7f", "3c3d"))
CONSULT = replace(SETTINGS, mode=Mode.CONSULT)


def replies(bench: Bench) -> dict[str, list[str]]:
    """The nodes that search after each reply."""
    found: dict[str, list[str]] = {}
    for node_id, job in bench.jobs.items():
        if job is not None:
            found.setdefault(" ".join(job.moves[1:2]), []).append(node_id)
    return found


def pondering(nodes: int = 4, settings: Settings = SETTINGS, fallback: bool = False) -> Bench:
    """After scouting found 3c3d likelier than 8c8d."""
    bench = Bench(nodes, settings, fallback)
    bench.feed(PonderSearch(PONDER))
    bench.report("n1", 5, 10, "3c3d", "2g2f", multipv=1)
    if nodes > 2:
        bench.report("n1", 5, 0, "8c8d", "2g2f", multipv=2)
    bench.tick(300)
    return bench


def voters_expecting(*expected: str) -> Bench:
    """Pondering on 7g7f, after a search in which each voter expected a different reply."""
    bench = Bench(len(expected), CONSULT)
    bench.feed(StartSearch(TIMED))
    for number, reply in enumerate(expected, start=1):
        bench.report(f"n{number}", 9, 30, "7g7f", reply)
    bench.feed(StopSearch(1))
    bench.feed(PonderSearch(PONDER))
    return bench


class TestDealing:
    def test_scouting_then_the_likely_replies(self) -> None:
        bench = Bench(4)
        bench.feed(PonderSearch(PONDER))
        assert bench.job("n1").moves == ("7g7f",)
        assert bench.job("n1").multipv == 3
        assert (bench.job("n1").movetime_ms, bench.job("n1").nodes) == (None, None)
        bench.report("n1", 5, 10, "3c3d", multipv=1)
        bench.report("n1", 5, 0, "8c8d", multipv=2)
        assert bench.coordinator.wake_ms(bench.now) == bench.now + 300
        bench.tick(300)
        assert bench.events("pondering")[0]["replies"] == {"3c3d": ["n1", "n2", "n3"], "8c8d": ["n4"]}
        assert replies(bench) == {"3c3d": ["n1", "n2", "n3"], "8c8d": ["n4"]}
        assert not bench.coordinator.searching
        assert bench.coordinator.pondering

    def test_the_nodes_of_a_reply_split_as_those_of_any_search(self) -> None:
        bench = pondering()
        assert bench.job("n1").multipv == 2
        bench.report("n1", 6, 20, "2g2f")
        bench.tick(300)
        assert bench.events("dealt")[0]["why"] == "presearch"
        assert bench.job("n1").searchmoves == ("2g2f",)
        assert bench.job("n1").moves == ("7g7f", "3c3d")

    def test_the_last_search_gives_the_likely_replies(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 9, 30, "7g7f", "3c3d", "2g2f")
        bench.feed(StopSearch(1))
        bench.feed(PonderSearch(PONDER))
        assert bench.job("n1").moves == ("7g7f", "3c3d")

    def test_an_expected_reply_is_always_among_them(self) -> None:
        bench = Bench(1)
        bench.feed(PonderSearch(PONDER, "9c9d"))
        assert replies(bench) == {"9c9d": ["n1"]}, "no scouting if there is a reply to ponder on"
        bench = Bench(3, CONSULT)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 9, 30, "7g7f", "3c3d")
        bench.report("n2", 9, 930, "7g7f", "8c8d")
        bench.feed(StopSearch(1))
        bench.feed(PonderSearch(PONDER, "9c9d"))
        assert replies(bench) == {"9c9d": ["n1", "n2"], "3c3d": ["n3"]}, "as likely as the likeliest, and first"
        bench.feed(StartSearch(replace(HIT, moves=("7g7f", "9c9d"))))
        assert bench.events("ponder_hit")

    def test_an_expected_reply_is_one_that_can_be_played(self) -> None:
        bench = Bench(1)
        with pytest.raises(ValueError, match="7g7f"):
            bench.feed(PonderSearch(PONDER, "7g7f"))
        assert not bench.coordinator.pondering

    def test_a_reply_that_is_half_as_likely_as_another_is_not_worth_a_node(self) -> None:
        """On a hit the whole fleet searches it anyway: a first node adds a third to that, a second one a fourth."""
        assert replies(voters_expecting("3c3d", "3c3d", "8c8d")) == {"3c3d": ["n1", "n2", "n3"]}

    def test_bounds_on_replies_that_nobody_would_play_are_no_hints(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(TIMED))
        bench.report("n1", 9, 30, "7g7f", "3c3d", bound=Bound.LOWER)  # the opponent's time, at most
        bench.feed(StopSearch(1))
        bench.feed(PonderSearch(PONDER))
        assert bench.job("n1").moves == ("7g7f",)

    def test_the_reply_to_the_move_that_was_decided_is_a_hint(self) -> None:
        """A root searcher found it; no leaf of the tree has it."""
        bench = Bench(2, replace(SETTINGS, root_share=0.3))
        bench.split()
        bench.report("n1", 8, 30, "7g7f", "3c3d")
        bench.tick(600)
        bench.report("n1", 12, 35, "2g2f", "8c8d")
        bench.tick(100)
        assert bench.decisions[0].move == "2g2f"
        bench.feed(PonderSearch(replace(PONDER, moves=("2g2f",))))
        assert bench.job("n1").moves == ("2g2f", "8c8d")

    def test_a_reply_that_leaves_nothing_to_search_is_passed_over(self) -> None:
        # White's only sensible reply gives check to a king with one escape: our next search would be forced.
        bench = Bench(1)
        position = "k8/9/9/9/9/9/9/1r7/8K w r 1"
        bench.feed(PonderSearch(SearchRequest(1, position)))
        bench.report("n1", 5, 900, "R*1a", "1i2h")
        bench.tick(300)
        assert bench.events("pondering")[0]["replies"] == {}
        assert bench.jobs["n1"] is None
        assert bench.coordinator.wake_ms(bench.now) is None

    def test_if_the_likely_reply_leaves_no_choice_another_is_pondered(self) -> None:
        """After R*2a our king has one square; after most other replies it has three."""
        bench = Bench(1)
        bench.feed(PonderSearch(SearchRequest(1, "k8/9/9/9/9/9/9/9/8K w r 1"), "R*2a"))
        assert bench.job("n1").moves == ()
        bench.report("n1", 5, 900, "9a9b", "1i2h")
        bench.tick(300)
        assert bench.job("n1").moves == ("9a9b",)

    @pytest.mark.parametrize("sfen", [MATED, DECLARABLE])
    def test_nothing_is_pondered_after_the_game(self, sfen: str) -> None:
        bench = Bench()
        bench.feed(PonderSearch(SearchRequest(1, sfen)))
        assert not bench.jobs
        assert not bench.coordinator.pondering

    def test_a_bad_request_changes_nothing(self) -> None:
        bench = pondering()
        before = dict(bench.jobs)
        for request in (
            replace(PONDER, search_id=2),
            replace(HIT, search_id=9),
            replace(PONDER, search_id=9, sfen="x"),
        ):
            with pytest.raises(ValueError, match=r"\w"):
                bench.coordinator.handle(PonderSearch(request), bench.now)
        assert bench.jobs == before
        assert bench.coordinator.pondering


class TestHit:
    @pytest.mark.parametrize(("depth", "score"), [(40, mated_in(6)), (238, 0)])
    def test_a_job_that_has_searched_all_there_is_ends_the_search_at_a_hit(self, depth: int, score: int) -> None:
        """No node searches any more, and there is nothing to wait for; the node stays idle until the hit."""
        bench = pondering(1)
        bench.report("n1", depth, score, "2g2f")
        job = bench.job("n1")
        bench.done("n1")
        bench.tick(1000)
        assert bench.jobs["n1"] is job, "no other job"
        bench.feed(StartSearch(HIT))
        assert bench.jobs["n1"] is job
        assert bench.decisions[0].move == "2g2f"

    @pytest.mark.parametrize("settings", [SETTINGS, CONSULT, replace(SETTINGS, mode=Mode.TIERS, groups=2)])
    def test_jobs_go_on_and_the_others_join(self, settings: Settings) -> None:
        bench = pondering(8, settings)
        on_it = replies(bench)["3c3d"]
        for node_id in on_it:
            bench.report(node_id, 6, 20, "2g2f", "8c8d")
        bench.tick(300)
        before = {node_id: bench.job(node_id) for node_id in on_it}
        bench.tick(1000)
        bench.feed(StartSearch(HIT))
        assert bench.events("ponder_hit")
        assert not bench.decisions
        kept = [node_id for node_id in on_it if bench.job(node_id) is before[node_id]]
        assert kept == on_it if settings.mode is Mode.CONSULT else kept
        assert set(replies(bench)) == {"3c3d"}
        assert sum(map(len, replies(bench).values())) == 8
        bench.report(on_it[0], 12, 33, *((bench.job(on_it[0]).searchmoves or ("2g2f",))[0:1]))
        bench.tick(1000)
        decision = bench.decisions[0]
        assert (decision.search_id, decision.move) == (3, "2g2f")
        assert decision.score == 33 or settings.mode is not Mode.CONSULT
        assert (decision.elapsed_ms, decision.pondered_ms) == (1000, 1300)
        assert decision.nodes >= 1200 + 600
        assert not [job for job in bench.jobs.values() if job is not None]

    def test_a_split_tree_goes_on_and_is_dealt_over_all(self) -> None:
        bench = pondering()
        bench.report("n1", 6, 20, "2g2f")
        bench.tick(300)
        bench.report("n1", 10, 25, "2g2f")
        best = bench.job("n1")
        bench.feed(StartSearch(HIT))
        assert bench.job("n1") is best
        assert bench.job("n4").moves == ("7g7f", "3c3d")
        assert bench.events("dealt")[0]["why"] == "ponder hit"
        bench.tick(1000)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 25)

    def test_with_little_time_a_tree_goes_on_as_it_is(self) -> None:
        bench = pondering()
        bench.report("n1", 6, 20, "2g2f")
        bench.tick(300)
        before = {node: bench.jobs[node] for node in ("n1", "n2", "n3")}
        bench.feed(StartSearch(replace(HIT, soft_ms=300, hard_ms=400)))
        assert {node: bench.jobs[node] for node in before} == before
        assert (bench.job("n4").searchmoves, bench.job("n4").ignoremoves) == ((), ()), "the whole fleet searches it"
        assert not bench.events("dealt")

    def test_a_lone_node_goes_on_while_those_that_join_rank_the_moves(self) -> None:
        bench = pondering()
        bench.report("n4", 9, 15, "2g2f")
        lone = bench.job("n4")
        bench.feed(StartSearch(replace(HIT, moves=("7g7f", "8c8d"))))
        assert bench.job("n4") is lone
        assert (bench.job("n1").multipv, bench.job("n1").moves) == (3, ("7g7f", "8c8d"))
        bench.report("n1", 4, 40, "2g2f", multipv=1)
        bench.report("n1", 4, 30, "5g5f", multipv=2)
        bench.report("n4", 10, 12, "6i7h")
        bench.tick(100)
        assert bench.events("dealt")[0]["why"] == "presearch"
        assert bench.job("n4").searchmoves or bench.job("n4").ignoremoves
        bench.tick(900)
        assert (bench.decisions[0].move, bench.decisions[0].depth) == ("6i7h", 10)

    def test_results_are_reported_before_the_start(self) -> None:
        bench = pondering()
        assert bench.pondered.replies == {}, "nothing is known yet"
        bench.report("n1", 6, 20, "2g2f")
        [known] = bench.pondered.replies.values()
        assert (known.pondered_ms, known.depth) == (0, 6)
        bench.tick(300)
        bench.report("n2", 8, 5, next(iter(bench.job("n2").searchmoves), "5g5f"))
        bench.tick(1000)
        assert bench.pondered.search_id == 2
        [(reply, known)] = bench.pondered.replies.items()
        assert (reply, known.source, [ballot.move for ballot in known.ballots]) == ("3c3d", "split", ["2g2f"])
        found = make_known("2g2f", 20, 6, 600 + 100_000, 1300, 975)
        assert known == replace(found, source="split", ballots=known.ballots)

    def test_results_are_reported_when_they_change_and_each_second(self) -> None:
        bench = pondering()
        told: list[int] = []
        began = bench.now
        bench.report("n1", 6, 20, "2g2f")
        for after in range(0, 3000, 10):
            if after == 40:
                bench.report("n1", 7, 21, "2g2f")
            out = bench.tick(10)
            told += [bench.now - began for found in out if isinstance(found, Pondered)]
            wake = bench.coordinator.wake_ms(bench.now)
            assert wake is not None
            assert bench.now < wake <= bench.now + 1000
        assert told == [100, 300, 1300, 2300], "with its second report, when its tree is dealt, and each second"

    def test_a_mate_that_is_known_is_played_at_once(self) -> None:
        bench = pondering()
        bench.report("n4", 9, mate_in(5), "2g2f")
        assert not bench.decisions
        bench.feed(StartSearch(replace(HIT, moves=("7g7f", "8c8d"))))
        assert bench.decisions[0].move == "2g2f"
        assert bench.decisions[0].elapsed_ms == 0

    def test_limits_of_nodes_hold_over_both(self) -> None:
        bench = Bench(1)
        bench.feed(StartSearch(replace(TIMED, nodes=5000)))
        bench.report("n1", 9, 30, "7g7f", "3c3d")
        bench.feed(StopSearch(1))
        bench.feed(PonderSearch(replace(PONDER, nodes=5000)))
        assert bench.job("n1").nodes == 5000
        bench.report("n1", 9, 30, "2g2f")
        bench.done("n1", 5000)
        assert len(bench.decisions) == 1, "a ponder search never decides"
        bench.feed(StartSearch(replace(HIT, nodes=5000)))
        assert (bench.decisions[1].move, bench.decisions[1].nodes) == ("2g2f", 5000)

    def test_with_little_time_all_search_the_reply_if_each_searches_all(self) -> None:
        bench = pondering(4, CONSULT)
        bench.tick(1000)
        assert {reply: len(nodes) for reply, nodes in replies(bench).items()} == {"3c3d": 3, "8c8d": 1}
        bench.feed(StartSearch(replace(HIT, soft_ms=300, hard_ms=400)))
        assert {reply: len(nodes) for reply, nodes in replies(bench).items()} == {"3c3d": 4}

    def test_the_fallback_rests_until_the_hit(self) -> None:
        bench = pondering(fallback=True)
        assert FALLBACK not in bench.jobs
        bench.feed(StartSearch(HIT))
        assert bench.job(FALLBACK).moves == ("7g7f", "3c3d")


class TestMiss:
    def test_all_pondering_stops_and_the_search_begins(self) -> None:
        bench = pondering()
        before = {node_id: bench.job(node_id).job_id for node_id in bench.jobs}
        bench.feed(StartSearch(replace(HIT, moves=("7g7f", "4a3b"))))
        assert bench.events("ponder_miss")
        assert all(bench.job(node_id).job_id > before[node_id] for node_id in before)
        assert replies(bench) == {"4a3b": ["n1", "n2", "n3", "n4"]}
        assert bench.decisions == []

    def test_a_start_while_scouting(self) -> None:
        bench = Bench(4)
        bench.feed(PonderSearch(PONDER))
        bench.feed(StartSearch(HIT))
        assert bench.events("ponder_miss")
        assert replies(bench) == {"3c3d": ["n1", "n2", "n3", "n4"]}


class TestStop:
    def test_a_stop_ends_it_without_a_decision(self) -> None:
        bench = pondering()
        bench.feed(StopSearch(1))
        assert bench.coordinator.pondering
        bench.feed(StopSearch(2))
        assert not bench.coordinator.pondering
        assert replies(bench) == {}
        assert bench.decisions == []
        assert bench.coordinator.wake_ms(bench.now) is None


class TestFaults:
    def test_a_hit_with_a_lost_node(self) -> None:
        bench = pondering()
        bench.report("n1", 6, 20, "2g2f")
        bench.tick(300)
        bench.report("n1", 12, 44, "2g2f", "8c8d")
        bench.feed(NodeLost("n1", "died"))
        bench.jobs["n1"] = None
        bench.feed(StartSearch(HIT))
        assert sorted(replies(bench)["3c3d"]) == ["n2", "n3", "n4"]
        bench.tick(1000)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 44)

    def test_a_reply_that_lost_all_its_nodes_keeps_its_result(self) -> None:
        bench = pondering()
        bench.report("n4", 12, 44, "2g2f", "8c8d")
        bench.feed(NodeLost("n4", "died"))
        bench.jobs["n4"] = None
        bench.feed(StartSearch(replace(HIT, moves=("7g7f", "8c8d"))), 200)
        assert bench.events("ponder_hit")
        bench.tick(1000)
        assert (bench.decisions[0].move, bench.decisions[0].score) == ("2g2f", 44)
        assert bench.decisions[0].pondered_ms > 0

    def test_a_node_that_comes_back_gets_its_reply_again(self) -> None:
        bench = pondering()
        bench.feed(NodeLost("n4", "died"))
        bench.jobs["n4"] = None
        bench.feed(NodeJoined("n4"))
        assert replies(bench)["8c8d"] == ["n4"]
        bench.feed(NodeJoined("n2"))
        assert "n2" in replies(bench)["3c3d"]

    def test_a_new_node_gets_the_reply_that_needs_it_most(self) -> None:
        bench = pondering()
        for number in range(5, 9):
            bench.feed(NodeJoined(f"n{number}"))
        assert {reply: len(nodes) for reply, nodes in replies(bench).items()} == {"3c3d": 5, "8c8d": 3}

    def test_the_first_node_begins_the_waiting_search(self) -> None:
        bench = Bench(0)
        bench.feed(PonderSearch(PONDER))
        assert bench.coordinator.pondering
        bench.feed(NodeJoined("n1"))
        assert bench.job("n1").moves == ("7g7f",)

    def test_all_scouts_are_lost_and_one_comes_back(self) -> None:
        bench = Bench(2)
        bench.feed(PonderSearch(PONDER))
        for node_id in ("n1", "n2"):
            bench.feed(NodeLost(node_id, "died"))
            bench.jobs[node_id] = None
        bench.tick(50)
        bench.feed(NodeJoined("n1"))
        assert bench.job("n1").moves == ("7g7f",)
        bench.report("n1", 5, 10, "3c3d")
        bench.tick(300)
        assert replies(bench) == {"3c3d": ["n1"]}

    def test_a_node_that_fails_is_left_out_of_that_reply_only(self) -> None:
        bench = pondering()
        bench.done("n4", 0, "out of memory")
        bench.feed(StartSearch(HIT))
        assert "n4" in replies(bench)["3c3d"]


def test_likelihoods() -> None:
    lines = [
        TreeLine(9, score, Bound.EXACT, (move,)) for move, score in (("a", 50), ("b", -10), ("a", 50), ("c", -3000))
    ]
    found = likelihoods(lines, 60.0)
    assert sum(found.values()) == pytest.approx(1)
    assert found["a"] / found["b"] == pytest.approx(2 * 2.71828, rel=0.01)
    assert found["c"] < 1e-9
    assert likelihoods([], 60.0) == {}


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=8), st.integers(0, 100))
def test_a_likelier_reply_never_has_fewer_nodes(weights: list[float], seats: int) -> None:
    dealt = seats_by_weight({str(index): weight for index, weight in enumerate(weights)}, seats)
    assert sum(dealt.values()) == seats
    for one, first in enumerate(weights):
        for other, second in enumerate(weights):
            assert first <= second or dealt[str(one)] >= dealt[str(other)]


def test_a_line_of_the_first_scout_counts_beside_those_of_one_that_comes_late() -> None:
    bench = Bench(1)
    bench.feed(PonderSearch(PONDER))
    bench.report("n1", 15, 10, "3c3d", "2g2f")
    bench.feed(NodeJoined("n2"), 250)
    bench.report("n2", 1, 0, "9c9d")
    bench.tick(50)
    assert "3c3d" in replies(bench)
