"""Votes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.api import Ballot
from cluster.consultation import Vote, agreement, comparable, count
from worker.score import mate_in, mated_in


def ballot(move: str, score: int, depth: int = 10, voter: str = "n") -> Ballot:
    return Ballot(voter, move, score, depth)


def test_majority() -> None:
    ballots = [ballot("a", 10), ballot("b", 900), ballot("a", -5)]
    assert count(ballots, Vote.MAJORITY) == ballots[0]
    assert count(ballots, Vote.OPTIMISTIC) == ballots[1]
    assert agreement(ballots, "a") == pytest.approx(2 / 3)


def test_a_tie_goes_to_the_highest_score() -> None:
    ballots = [ballot("a", 10), ballot("b", 20), ballot("b", 5), ballot("a", 15), ballot("c", 99)]
    assert count(ballots, Vote.MAJORITY) == ballots[1]


def test_a_known_win_beats_any_majority() -> None:
    ballots = [ballot("a", 3000), ballot("a", 3000), ballot("b", mate_in(9)), ballot("c", mate_in(7))]
    assert count(ballots, Vote.MAJORITY) == ballots[3]


def test_known_losses_do_not_change_the_count() -> None:
    ballots = [ballot("a", mated_in(6)), ballot("a", mated_in(6)), ballot("b", mated_in(8))]
    assert count(ballots, Vote.MAJORITY).move == "a"


def test_a_late_shallow_voter_is_not_counted() -> None:
    ballots = [ballot("a", 10, depth=15), ballot("b", 300, depth=2), ballot("c", mate_in(1), depth=1)]
    assert comparable(ballots, 4) == [ballots[0], ballots[2]]
    assert comparable([], 4) == []


def test_no_ballots() -> None:
    with pytest.raises(ValueError, match="no ballots"):
        count([], Vote.MAJORITY)
    assert agreement([], "a") == 0.0


@given(
    st.lists(st.builds(ballot, st.sampled_from("abc"), st.integers(-500, 500), st.integers(1, 20)), min_size=1),
    st.sampled_from(Vote),
    st.integers(0, 20),
)
def test_the_winner_stood_for_election(ballots: list[Ballot], vote: Vote, slack: int) -> None:
    counted = comparable(ballots, slack)
    assert counted
    winner = count(counted, vote)
    assert winner in counted
    if vote is Vote.MAJORITY:
        assert agreement(counted, winner.move) == max(agreement(counted, move) for move in "abc")
