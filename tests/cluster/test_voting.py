"""Votes: the contract of `cluster.voting`, checked for every rule, and the special cases of each rule."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.api import Ballot
from cluster.voting import Vote, comparable, count
from master.config.sections import ClusterConfig
from master.usi.options import FleetOptions
from tests.answers import make_ballot
from tests.master.usi.bench import PLAN
from worker.score import mate_in, mated_in

DOCS = Path(__file__).parents[2] / "docs"
every_rule = pytest.mark.parametrize("vote", Vote)


def ballot(move: str, score: int, depth: int = 20, nodes: int = 1000, weight: float = 1.0) -> Ballot:
    return replace(make_ballot("n", move, score, depth, nodes), weight=weight)


@every_rule
def test_a_ballot_alone_is_the_outcome(vote: Vote) -> None:
    for score in (0, -3000, mate_in(5), mated_in(4)):
        counted = count([ballot("a", score)], vote)
        assert (counted.ballot.move, counted.agreement) == ("a", 1.0)


@every_rule
def test_it_is_a_function_of_the_ballots(vote: Vote) -> None:
    rng = random.Random(3)
    for _ in range(60):
        ballots = [ballot(rng.choice("abc"), rng.randrange(-300, 300), rng.randrange(1, 30)) for _ in range(5)]
        before = list(ballots)
        counted = count(ballots, vote)
        assert counted.ballot in ballots
        assert 0 < counted.agreement <= 1
        assert ballots == before
        assert count(ballots, vote) == counted
        # No two are alike in score and depth: the order decides nothing.
        if len({(one.score, one.depth) for one in ballots}) == len(ballots):
            assert count(rng.sample(ballots, 5), vote).ballot == counted.ballot


@every_rule
def test_weights(vote: Vote) -> None:
    group, others = ballot("a", 50, weight=3.0), [ballot("b", 50, nodes=1000) for _ in range(2)]
    moves = {count([group, *others], vote).ballot.move, count([*others, group], vote).ballot.move}
    assert moves == {"a"} if vote is Vote.MAJORITY else moves <= {"a", "b"}
    alone = count([replace(group, weight=1.0), *others], vote)
    assert (alone.agreement == count([group, *others], vote).agreement) == (vote is not Vote.MAJORITY)


@every_rule
def test_a_known_win_beats_all_and_the_shorter_one_another(vote: Vote) -> None:
    crowd = [ballot("a", 3000) for _ in range(5)]
    assert count([*crowd, ballot("b", mate_in(9))], vote).ballot.move == "b"
    assert count([*crowd, ballot("b", mate_in(9)), ballot("c", mate_in(7))], vote).ballot.move == "c"


@every_rule
def test_a_voter_that_is_mated_has_no_vote_while_another_is_open(vote: Vote) -> None:
    mated = [ballot("a", mated_in(6), 30, 10**6) for _ in range(3)]
    assert count([*mated, ballot("b", -2500, 5, 10)], vote).ballot.move == ("a" if vote is Vote.MAJORITY else "b")


@every_rule
def test_if_all_are_mated_the_longest_defence_is_played(vote: Vote) -> None:
    ballots = [ballot("a", mated_in(6)), ballot("a", mated_in(6)), ballot("b", mated_in(8))]
    assert count(ballots, vote).ballot.move == ("a" if vote is Vote.MAJORITY else "b")


@every_rule
def test_ties_go_to_the_score_then_the_depth_then_the_first(vote: Vote) -> None:
    a, b = ballot("a", 10), ballot("b", 10)
    assert count([a, b], vote).ballot == a
    assert count([b, a], vote).ballot == b
    assert count([a, ballot("b", 11)], vote).ballot.move == "b"
    assert count([a, ballot("b", 10, depth=21)], vote).ballot.move == "b"


@every_rule
def test_of_the_chosen_moves_ballots_the_best_is_played(vote: Vote) -> None:
    ballots = [ballot("a", 10), ballot("a", 30), ballot("a", 20)]
    assert count(ballots, vote).ballot == ballots[1]
    assert count(ballots, vote).agreement == pytest.approx(1)


@every_rule
def test_a_lost_voter_counts_until_the_others_are_far_beyond_it(vote: Vote) -> None:
    lost, others = ballot("a", 40, depth=20), [ballot("b", 30, depth=22), ballot("a", 20, depth=22)]
    assert count(comparable([lost, *others], 4), vote).ballot == lost
    deeper = [replace(one, line=replace(one.line, depth=30)) for one in others]
    assert lost not in comparable([lost, *deeper], 4)
    assert count(comparable([lost, *deeper], 4), vote).ballot in deeper


@every_rule
def test_no_ballots_are_no_vote(vote: Vote) -> None:
    with pytest.raises(ValueError, match="no ballots"):
        count([], vote)


@every_rule
def test_the_list_of_rules_is_one(vote: Vote) -> None:
    """The configuration and the USI option offer it, the two pages about them name it, and a function counts by it."""
    assert ClusterConfig(vote=vote.value).vote == vote
    assert vote in FleetOptions(PLAN).table["Vote"].choices
    assert f"| `{vote}` |" in (DOCS / "explanation/deciding.md").read_text()
    assert f"`{vote}`" in (DOCS / "reference/usi.md").read_text()


def test_majority() -> None:
    ballots = [ballot("a", 10), ballot("b", 900), ballot("a", -5)]
    assert count(ballots, Vote.MAJORITY).ballot == ballots[0]
    assert count(ballots, Vote.MAJORITY).agreement == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("ballots", "move", "agreement"),
    [
        ([ballot("a", 0, 10, 100), ballot("b", 0, 11, 100)], "b", 11 / 21),
        ([ballot("a", 0, 10, 400), ballot("b", 0, 11, 100)], "a", 40 / 51),
        # At equal depth, a ballot that is 14 points above the worst weighs as much as two of the worst.
        ([ballot("a", 16, 10), ballot("b", 0, 10), ballot("b", 0, 10)], "a", 30 / 58),
        ([ballot("a", 12, 10), ballot("b", 0, 10), ballot("b", 0, 10)], "b", 28 / 54),
        ([ballot("a", 0, 0, 0), ballot("b", 0, 1, 1), ballot("b", 0, 0, 0)], "b", 2 / 3),
    ],
)
def test_weighted(ballots: list[Ballot], move: str, agreement: float) -> None:
    counted = count(ballots, Vote.WEIGHTED)
    assert (counted.ballot.move, counted.agreement) == (move, pytest.approx(agreement))


def test_a_late_shallow_voter_is_not_counted() -> None:
    ballots = [ballot("a", 10, depth=15), ballot("b", 300, depth=2), ballot("c", mate_in(1), depth=1)]
    assert comparable(ballots, 4) == [ballots[0], ballots[2]]
    assert comparable([], 4) == []
