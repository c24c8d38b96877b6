"""Lazy SMP: the vote of the threads, the depths that they leave out, their shared learning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.search.tables import read
from worker.engine import Limits
from worker.score import MATE_BOUND, mate_in, mated_in
from worker.search.engine import NumbaEngine
from worker.search.history import learn
from worker.search.state import CONTINUATION_LIMIT, H_CONTINUATION
from worker.search.thread import Ballot, elect, skips
from worker.shogi import STARTPOS

scores = st.one_of(st.integers(-2000, 2000), st.integers(1, 30).map(mate_in), st.integers(0, 30).map(mated_in))
ballots = st.builds(Ballot, st.integers(1, 4), scores, st.integers(0, 40))


@pytest.mark.parametrize(
    ("threads", "winner"),
    [
        ([Ballot(1, 50, 20)], 0),
        ([Ballot(1, 50, 20), Ballot(2, 50, 20)], 0),
        ([Ballot(1, 50, 20), Ballot(2, 50, 21)], 1),
        ([Ballot(1, 50, 20), Ballot(2, 80, 20)], 1),
        # Two threads outvote one that saw a little more; the deeper of them gives the line of both.
        ([Ballot(1, 60, 20), Ballot(2, 50, 20), Ballot(2, 50, 21)], 2),
        # A great difference in score outweighs them.
        ([Ballot(1, 300, 20), Ballot(2, 50, 20), Ballot(2, 50, 21)], 0),
        # Mates: the shortest one, against any other score.
        ([Ballot(1, 900, 30), Ballot(2, mate_in(9), 5), Ballot(3, mate_in(5), 4), Ballot(1, 900, 30)], 2),
        # A thread that sees itself mated has no vote while another sees a way out, and does not raise the others'
        # weights.
        ([Ballot(1, mated_in(6), 30), Ballot(2, -900, 3)], 1),
        ([Ballot(1, mated_in(6), 30), Ballot(2, 40, 10), Ballot(3, 50, 4), Ballot(1, mated_in(8), 30)], 1),
        ([Ballot(1, mated_in(6), 30), Ballot(2, mated_in(12), 9)], 1),
        # A thread that finished no iteration has a move but no weight.
        ([Ballot(1, 10, 8), Ballot(2, 500, 0)], 0),
    ],
)
def test_elections(threads: list[Ballot], winner: int) -> None:
    assert elect(threads) == winner


@given(st.lists(ballots, min_size=1, max_size=8))
def test_the_winner_is_never_worse_in_mates(threads: list[Ballot]) -> None:
    won = threads[elect(threads)]
    best = max(ballot.score for ballot in threads)
    if best >= MATE_BOUND or best <= -MATE_BOUND:
        assert won.score == best
    else:
        assert won.score > -MATE_BOUND


def test_the_main_thread_searches_every_depth() -> None:
    assert not any(skips(0, depth) for depth in range(1, 128))


@pytest.mark.parametrize("number", range(1, 41))
def test_a_helper_searches_half_of_the_depths(number: int) -> None:
    searched = [depth for depth in range(1, 121) if not skips(number, depth)]
    assert len(searched) == pytest.approx(60, abs=4)
    assert searched[0] == 1


def test_helpers_spread() -> None:
    patterns = {tuple(skips(number, depth) for depth in range(1, 60)) for number in range(1, 21)}
    assert len(patterns) == 20
    for depth in range(10, 30):
        assert 7 <= sum(skips(number, depth) for number in range(1, 21)) <= 13


def test_threads_of_an_engine_learn_together_and_forget_together() -> None:
    engine = NumbaEngine(hash_mb=1, threads=2)
    first, second = (thread.fields for thread in engine._threads)
    assert first.shared[0] == second.shared[0]
    assert first.histories[0] != second.histories[0]
    address = int(first.shared[0]) + H_CONTINUATION
    fresh = read(address)
    learn(address, np.int64(3000), np.int64(CONTINUATION_LIMIT))
    assert read(address) > fresh
    engine.set_position(STARTPOS)
    engine.go(Limits(nodes=10))
    engine.new_game()
    assert read(address) == fresh
    engine.close()
