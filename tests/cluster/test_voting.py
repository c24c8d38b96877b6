"""The vote: the rules in the docstring of `cluster.voting`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cluster.api import Ballot
from cluster.voting import comparable, count
from tests.answers import make_ballot
from worker.score import mate_in, mated_in


def ballot(move: str, score: int, depth: int = 20, nodes: int = 1000, weight: float = 1.0) -> Ballot:
    return replace(make_ballot("n", move, score, depth, nodes), weight=weight)


def test_a_ballot_alone_is_the_outcome() -> None:
    for score in (0, -3000, mate_in(5), mated_in(4)):
        counted = count([ballot("a", score)])
        assert (counted.ballot.move, counted.agreement) == ("a", 1.0)


def test_it_is_a_function_of_the_ballots() -> None:
    rng = random.Random(3)
    for _ in range(60):
        ballots = [ballot(rng.choice("abc"), rng.randrange(-300, 300), rng.randrange(1, 30)) for _ in range(5)]
        before = list(ballots)
        counted = count(ballots)
        assert counted.ballot in ballots
        assert 0 < counted.agreement <= 1
        assert ballots == before
        assert count(ballots) == counted
        # No two are alike in score and depth: the order decides nothing.
        if len({(one.score, one.depth) for one in ballots}) == len(ballots):
            assert count(rng.sample(ballots, 5)).ballot == counted.ballot


def test_the_heavier_move_wins() -> None:
    ballots = [ballot("a", 10), ballot("b", 900), ballot("a", -5)]
    assert count(ballots).ballot == ballots[0]
    assert count(ballots).agreement == pytest.approx(2 / 3)
    group, others = ballot("a", 50, weight=3.0), [ballot("b", 60) for _ in range(2)]
    assert count([group, *others]).ballot == count([*others, group]).ballot == group
    assert count([group, *others]).agreement == pytest.approx(3 / 5)


def test_a_known_win_beats_all_and_the_shorter_one_another() -> None:
    crowd = [ballot("a", 3000) for _ in range(5)]
    assert count([*crowd, ballot("b", mate_in(9))]).ballot.move == "b"
    assert count([*crowd, ballot("b", mate_in(9)), ballot("c", mate_in(7))]).ballot.move == "c"


def test_voters_that_see_a_loss_count_as_others_do() -> None:
    mated = [ballot("a", mated_in(6), 30) for _ in range(3)]
    assert count([*mated, ballot("b", -2500, 5)]).ballot.move == "a"
    assert count([*mated, ballot("b", mated_in(8)), ballot("b", mated_in(8))]).ballot.move == "a"


def test_ties_go_to_the_score_then_the_depth_then_the_first() -> None:
    a, b = ballot("a", 10), ballot("b", 10)
    assert count([a, b]).ballot == a
    assert count([b, a]).ballot == b
    assert count([a, ballot("b", 11)]).ballot.move == "b"
    assert count([a, ballot("b", 10, depth=21)]).ballot.move == "b"


def test_of_the_chosen_moves_ballots_the_best_is_played() -> None:
    ballots = [ballot("a", 10), ballot("a", 30), ballot("a", 20)]
    assert count(ballots).ballot == ballots[1]
    assert count(ballots).agreement == pytest.approx(1)


def test_a_lost_voter_counts_until_the_others_are_far_beyond_it() -> None:
    lost, others = ballot("a", 40, depth=20), [ballot("b", 30, depth=22), ballot("a", 20, depth=22)]
    assert count(comparable([lost, *others], 4)).ballot == lost
    deeper = [replace(one, line=replace(one.line, depth=30)) for one in others]
    assert lost not in comparable([lost, *deeper], 4)
    assert count(comparable([lost, *deeper], 4)).ballot in deeper


def test_no_ballots_are_no_vote() -> None:
    with pytest.raises(ValueError, match="no ballots"):
        count([])


def test_a_late_shallow_voter_is_not_counted() -> None:
    ballots = [ballot("a", 10, depth=15), ballot("b", 300, depth=2), ballot("c", mate_in(1), depth=1)]
    assert comparable(ballots, 4) == [ballots[0], ballots[2]]
    assert comparable([], 4) == []
