"""Two tiers: each group splits a tree, and the groups vote. Event by event, through the coordinator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster.api import SearchRequest, StartSearch, StopSearch
from cluster.coordination.events import NodeJoined, NodeLost
from cluster.coordination.settings import Mode
from tests.cluster.coordination.bench import SETTINGS, TIMED, Bench

TWO = replace(SETTINGS, mode=Mode.TIERS, groups=2)


def two_groups(request: SearchRequest = TIMED) -> Bench:
    """n1 and n2 against n3 and n4, both past their presearch: 7g7f is first in one group, 2g2f in the other."""
    bench = Bench(4, TWO)
    bench.feed(StartSearch(request))
    bench.report("n1", 5, 30, "7g7f")
    bench.report("n3", 5, 20, "2g2f")
    bench.tick(100)
    return bench


@pytest.mark.parametrize(
    ("nodes", "groups", "sizes"), [(7, 3, [2, 2, 3]), (4, 2, [2, 2]), (3, 2, [1, 2]), (2, 4, [1, 1]), (5, 1, [5])]
)
def test_nodes_are_dealt_evenly(nodes: int, groups: int, sizes: list[int]) -> None:
    bench = Bench(nodes, replace(TWO, groups=groups))
    bench.feed(StartSearch(TIMED))
    assert bench.events("search_started")[0]["groups"] == len(sizes)
    for number in range(1, nodes + 1):
        bench.report(f"n{number}", 5, 30, "7g7f")
    bench.tick(300)
    dealt = [event["leaves"] for event in bench.events("dealt")]
    assert [len(leaves) for leaves in dealt if isinstance(leaves, dict)] == [size for size in sizes if size > 1]
    if groups == 1:
        bench.tick(1000)
        assert bench.decisions[0].source == "split"


def test_a_group_that_is_still_in_its_presearch_does_not_hold_up_the_other() -> None:
    bench = Bench(4, TWO)
    bench.feed(StartSearch(TIMED))
    bench.report("n1", 5, 30, "7g7f")
    bench.tick(100)
    assert [event["group"] for event in bench.events("dealt")] == ["group-1"]
    bench.report("n3", 2, 10, "2g2f")
    assert [event["group"] for event in bench.events("dealt")] == ["group-2"]


def test_the_groups_vote() -> None:
    bench = two_groups()
    bench.report("n1", 8, 30, "7g7f", "3c3d")
    bench.report("n4", 8, 90, "7g7f", "8c8d")
    bench.tick(900)
    decision = bench.decisions[0]
    assert (decision.move, decision.source) == ("7g7f", "vote")
    assert [(ballot.voter, ballot.move, ballot.score) for ballot in decision.ballots] == [
        ("group-1", "7g7f", 30),
        ("group-2", "7g7f", 90),
    ]
    assert decision.pv == ("7g7f", "8c8d")


def test_a_loss_is_dealt_anew_within_its_group() -> None:
    bench = two_groups()
    before = bench.job("n1"), bench.job("n2")
    bench.feed(NodeLost("n3", "died"))
    assert (bench.job("n4").searchmoves, bench.job("n4").ignoremoves) == ((), ())
    assert (bench.job("n1"), bench.job("n2")) == before


def test_a_group_without_nodes_keeps_its_vote_and_the_joiner_fills_it() -> None:
    bench = two_groups()
    bench.report("n3", 9, 200, "2g2f")
    bench.report("n1", 9, 30, "7g7f")
    bench.feed(NodeLost("n3", "died"))
    bench.feed(NodeLost("n4", "died"))
    bench.feed(NodeJoined("n5"))
    assert (bench.job("n5").searchmoves, bench.job("n5").ignoremoves) == ((), ())
    bench.feed(NodeJoined("n3"))
    assert (bench.job("n3").searchmoves, bench.job("n5").ignoremoves) == (("2g2f",), ("2g2f",))
    bench.feed(StopSearch(1))
    assert bench.decisions[0].move == "2g2f"
    assert len(bench.decisions[0].ballots) == 2


def test_a_presearch_that_is_left_with_one_node_ends_in_a_voter() -> None:
    bench = Bench(4, TWO)
    bench.feed(StartSearch(TIMED))
    bench.report("n1", 5, 30, "7g7f")
    bench.feed(NodeLost("n4", "died"))
    bench.tick(100)
    bench.report("n3", 6, 10, "2g2f")
    bench.tick(900)
    assert [ballot.voter for ballot in bench.decisions[0].ballots] == ["group-1", "n3"]


def test_the_search_of_an_uncounted_group_is_wasted() -> None:
    bench = two_groups()
    bench.report("n1", 20, 30, "7g7f")
    bench.report("n3", 8, 90, "2g2f")
    bench.tick(900)
    assert (bench.decisions[0].nodes, bench.decisions[0].wasted) == (500 + 500 + 90_000 + 90_000, 90_000)


def test_the_groups_of_two_engines_have_names_of_their_own() -> None:
    bench = Bench(0)
    for name, engine in (("x1", "X"), ("y1", "Y")):
        bench.feed(NodeJoined(name, engine))
    bench.feed(StartSearch(replace(TIMED, soft_ms=5000, hard_ms=9000)))
    for name, engine in (("x2", "X"), ("y2", "Y")):
        bench.feed(NodeJoined(name, engine))  # `Settings.validate` checks the names
    for lone, new, move in (("x1", "x2", "7g7f"), ("y1", "y2", "2g2f")):
        bench.report(lone, 5, 30, move)
        bench.report(new, 5, 30, move)
    bench.tick(300)
    bench.feed(StopSearch(1))
    assert bench.decisions[0].pv == (bench.decisions[0].move,)
    assert {ballot.voter for ballot in bench.decisions[0].ballots} <= {"split", "group-2", "x1", "y1"}


def test_newcomers_of_a_split_search_make_one_tree() -> None:
    bench = Bench(1)
    bench.feed(StartSearch(replace(TIMED, soft_ms=5000, hard_ms=9000)))
    bench.report("n1", 5, 30, "7g7f")
    for number in range(2, 9):
        bench.feed(NodeJoined(f"n{number}"))
    bench.report("n2", 5, 30, "7g7f")
    bench.tick(300)
    dealt = bench.events("dealt")[0]
    assert (dealt["group"], len(dealt["leaves"])) == ("split", 8)  # type: ignore[arg-type]


def test_a_foreign_voter_does_not_overrule_a_whole_group() -> None:
    bench = Bench(2)
    bench.feed(NodeJoined("gps", "other"))
    bench.split()
    bench.report("n1", 12, 50, "7g7f")
    bench.report("n2", 12, -50, "5g5f")
    bench.report("gps", 12, 60, "2g2f")
    bench.tick(1000)
    assert bench.decisions[0].move == "7g7f"
    assert [(ballot.voter, ballot.members) for ballot in bench.decisions[0].ballots] == [("split", 2), ("gps", 1)]


def test_a_node_that_comes_back_with_another_engine_is_a_voter_of_its_own() -> None:
    bench = Bench(3)
    bench.split()
    bench.feed(NodeLost("n3", "died"))
    bench.feed(NodeJoined("n3", "other", can_split=False))
    job = bench.job("n3")
    assert (job.searchmoves, job.ignoremoves, job.moves) == ((), (), ())
    assert len({bench.job(node).searchmoves or bench.job(node).ignoremoves for node in ("n1", "n2")}) == 1


def test_a_node_that_comes_back_is_judged_anew() -> None:
    bench = two_groups()
    for refusals in (4, 1):
        for _ in range(refusals):
            bench.report("n3", 6, 30, "1a1a")
        if refusals == 4:
            bench.feed(NodeLost("n3", "died"))
            bench.feed(NodeJoined("n3"))
    assert not bench.events("job_failed")
    assert bench.jobs["n3"] is not None
