"""The learned vote: what it makes of the voters' histories."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.api import Ballot, Opinion
from cluster.voting.consultation import Vote, count
from cluster.voting.learned import FEATURES, features, standard_weights
from worker.score import mate_in, mated_in

opinions = st.builds(
    Opinion, st.integers(0, 2000), st.integers(0, 20), st.integers(-31_999, 31_999), st.sampled_from("abcd")
)


@st.composite
def voters(draw: st.DrawFn) -> Ballot:
    """A voter whose history, where it has one, ends with its ballot."""
    history = tuple(draw(st.lists(opinions, max_size=6)))
    move, score, depth = draw(st.sampled_from("abc")), draw(st.integers(-500, 500)), draw(st.integers(0, 20))
    score = draw(st.just(score) | st.integers(1, 30).map(mate_in) | st.integers(1, 30).map(mated_in))
    nodes = draw(st.integers(0, 3000))
    history = (*history, Opinion(nodes, depth, score, move)) if draw(st.booleans()) else ()
    return Ballot("n", move, score, depth, (), nodes, draw(st.integers(1, 3)), history)


def ballot(move: str, score: int, *history: tuple[int, int, int, str], depth: int = 10) -> Ballot:
    """One that has searched 1000 nodes."""
    told = tuple(Opinion(*one) for one in history)
    return Ballot("n", move, score, depth, (), 1000, 1, (*told, Opinion(1000, depth, score, move)) if told else ())


def found(ballots: list[Ballot], move: str) -> dict[str, float]:
    return dict(zip(FEATURES, features(ballots)[move], strict=True))


@given(st.lists(voters(), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_the_order_of_the_ballots_does_not_matter(ballots: list[Ballot], shuffler: random.Random) -> None:
    counted = count(ballots, Vote.LEARNED)
    shuffler.shuffle(mixed := list(ballots))
    again = count(mixed, Vote.LEARNED)
    assert again.agreement == counted.agreement
    assert (again.ballot.move, again.ballot.score, again.ballot.depth) == (
        counted.ballot.move,
        counted.ballot.score,
        counted.ballot.depth,
    )


@given(voters())
def test_one_ballot_is_what_is_played(one: Ballot) -> None:
    assert count([one], Vote.LEARNED).ballot == one


@given(st.lists(voters(), min_size=1, max_size=9))
def test_a_voter_without_history_is_one_that_never_thought_otherwise(ballots: list[Ballot]) -> None:
    bare = [replace(one, history=()) for one in ballots]
    steady = [replace(one, history=(Opinion(one.nodes, one.depth, one.score, one.move),)) for one in ballots]
    assert features(bare) == features(steady)
    assert count(bare, Vote.LEARNED).ballot.move == count(steady, Vote.LEARNED).ballot.move


@given(st.lists(voters(), min_size=1, max_size=9))
def test_features_stay_in_their_range(ballots: list[Ballot]) -> None:
    for move in {one.move for one in ballots}:
        row = found(ballots, move)
        assert all(0 <= row[name] <= 1 for name in ("share", "since", "left", "spread"))
        assert all(-1 <= row[name] <= 1 for name in ("lead", "best", "mean", "trend", "regret"))


def test_where_all_are_mated_the_longest_defence_is_played() -> None:
    ballots = [ballot("a", mated_in(6)), ballot("a", mated_in(6)), ballot("b", mated_in(8))]
    assert count(ballots, Vote.LEARNED).ballot == ballots[2]


def test_what_the_features_say_of_a_voter_who_changed_its_mind() -> None:
    steady = ballot("a", 60, (100, 5, 50, "a"), (500, 8, 60, "a"))
    turned = ballot("b", 0, (100, 5, 50, "a"), (400, 8, 90, "a"), (600, 9, -30, "b"), depth=9)
    b = found([steady, turned], "b")
    assert b["since"] == pytest.approx(0.4)
    assert b["changes"] == 1
    assert b["held"] == pytest.approx(0.6 / 2)
    assert b["held_late"] == pytest.approx(1 / 2)
    assert b["mean"] < 0
    a = found([steady, turned], "a")
    assert a["left"] == 1
    # It thought 90 of the move when it left it for one of 0, at depth 8 where the deepest is 10.
    assert a["regret"] == pytest.approx(0.0744, abs=1e-4)
    assert a["was_deep"] == -2
    assert (a["since"], a["changes"], a["trend"]) == (0, 0, 0)
    assert b["trend"] == pytest.approx(-0.0416, abs=1e-4)


def test_there_is_a_weight_for_every_feature() -> None:
    assert len(standard_weights()) == len(FEATURES)
    assert any(standard_weights())
