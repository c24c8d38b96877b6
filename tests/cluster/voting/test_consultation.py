"""Votes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.api import Ballot
from cluster.voting import Vote
from cluster.voting.consultation import comparable, count
from tests.answers import make_ballot
from worker.score import mate_in, mated_in


def ballot(move: str, score: int, depth: int = 10, nodes: int = 1000) -> Ballot:
    return make_ballot("n", move, score, depth, nodes)


def test_majority() -> None:
    ballots = [ballot("a", 10), ballot("b", 900), ballot("a", -5)]
    assert count(ballots, Vote.MAJORITY).ballot == ballots[0]
    assert count(ballots, Vote.MAJORITY).agreement == pytest.approx(2 / 3)
    assert count(ballots, Vote.OPTIMISTIC).ballot == ballots[1]
    assert count(ballots, Vote.OPTIMISTIC).agreement == pytest.approx(1 / 3)


def test_a_tie_goes_to_the_highest_score() -> None:
    ballots = [ballot("a", 10), ballot("b", 20), ballot("b", 5), ballot("a", 15), ballot("c", 99)]
    assert count(ballots, Vote.MAJORITY).ballot == ballots[1]
    assert count(ballots, Vote.MATE_FIRST).ballot == ballots[1]


@pytest.mark.parametrize("vote", [vote for vote in Vote if vote is not Vote.MATE_FIRST])
def test_a_known_win_beats_any_majority(vote: Vote) -> None:
    ballots = [ballot("a", 3000), ballot("a", 3000), ballot("b", mate_in(9)), ballot("c", mate_in(7))]
    assert count(ballots, vote).ballot == ballots[3]


def test_known_losses_do_not_change_the_majority() -> None:
    ballots = [ballot("a", mated_in(6)), ballot("a", mated_in(6)), ballot("b", mated_in(8))]
    assert count(ballots, Vote.MAJORITY).ballot.move == "a"


@pytest.mark.parametrize("vote", [Vote.WEIGHTED, Vote.SCORE_SUM, Vote.MATE_FIRST])
def test_a_known_loss_gets_no_hearing_while_another_ballot_is_open(vote: Vote) -> None:
    ballots = [ballot("a", mated_in(6), 30), ballot("a", mated_in(6), 30), ballot("b", -900, 3)]
    assert count(ballots, vote).ballot == ballots[2]
    assert count(ballots, vote).agreement == 1.0
    assert (
        count([ballot("a", mated_in(6)), ballot("a", mated_in(6)), ballot("b", mated_in(8))], vote).ballot.move == "b"
    )


def test_only_proven_mates_come_first() -> None:
    unproven, proven = ballot("b", mate_in(19), depth=10), ballot("c", mate_in(10), depth=10)
    others = [ballot("a", 50), ballot("a", 40)]
    assert count([unproven, *others], Vote.MATE_FIRST).ballot.move == "a"
    assert count([unproven, *others, proven], Vote.MATE_FIRST).ballot == proven
    assert count([unproven, *others], Vote.MAJORITY).ballot.move == "b"


@pytest.mark.parametrize(
    ("ballots", "move", "agreement"),
    [
        ([ballot("a", 0, 10, 100), ballot("b", 0, 11, 100)], "b", 11 / 21),
        ([ballot("a", 0, 10, 400), ballot("b", 0, 11, 100)], "a", 40 / 51),
        # At equal depth, one that is 14 points above the worst weighs as much as two of the worst.
        ([ballot("a", 16, 10), ballot("b", 0, 10), ballot("b", 0, 10)], "a", 30 / 58),
        ([ballot("a", 12, 10), ballot("b", 0, 10), ballot("b", 0, 10)], "b", 28 / 54),
        ([ballot("a", 0, 0, 0), ballot("b", 0, 1, 1), ballot("b", 0, 0, 0)], "b", 2 / 3),
    ],
)
def test_weighted(ballots: list[Ballot], move: str, agreement: float) -> None:
    counted = count(ballots, Vote.WEIGHTED)
    assert (counted.ballot.move, counted.agreement) == (move, pytest.approx(agreement))


@pytest.mark.parametrize(
    ("ballots", "move", "agreement"),
    [
        ([ballot("a", 40), ballot("b", 50), ballot("c", 30), ballot("a", 45)], "a", (20 + 25) / (20 + 30 + 10 + 25)),
        ([ballot("a", 130), ballot("b", 50), ballot("b", 60)], "a", 90 / (90 + 10 + 20)),
        ([ballot("a", 50, 10), ballot("b", 50, 12)], "b", 12 / 22),
    ],
)
def test_score_sum(ballots: list[Ballot], move: str, agreement: float) -> None:
    counted = count(ballots, Vote.SCORE_SUM)
    assert (counted.ballot.move, counted.agreement) == (move, pytest.approx(agreement))


def test_a_late_shallow_voter_is_not_counted() -> None:
    ballots = [ballot("a", 10, depth=15), ballot("b", 300, depth=2), ballot("c", mate_in(1), depth=1)]
    assert comparable(ballots, 4) == [ballots[0], ballots[2]]
    assert comparable([], 4) == []


def test_no_ballots() -> None:
    with pytest.raises(ValueError, match="no ballots"):
        count([], Vote.MAJORITY)


scores = st.integers(-500, 500) | st.integers(1, 30).map(mate_in) | st.integers(1, 30).map(mated_in)


@given(
    st.lists(st.builds(ballot, st.sampled_from("abc"), scores, st.integers(0, 20), st.integers(0, 9)), min_size=1),
    st.sampled_from(Vote),
    st.integers(0, 20),
)
def test_the_winner_stood_for_election(ballots: list[Ballot], vote: Vote, slack: int) -> None:
    stood = comparable(ballots, slack)
    counted = count(stood, vote)
    assert counted.ballot in stood
    assert 0 < counted.agreement <= 1
    if len({ballot.move for ballot in stood}) == 1:
        assert counted.agreement == pytest.approx(1)


@pytest.mark.parametrize("vote", [Vote.MAJORITY, Vote.MATE_FIRST])
def test_a_group_has_as_many_votes_as_nodes(vote: Vote) -> None:
    group = replace(ballot("a", 50, 20), members=7)
    lone = ballot("b", 60, 12)
    assert count([group, lone], vote).ballot == group
    assert count([group, lone], vote).agreement == pytest.approx(7 / 8)
