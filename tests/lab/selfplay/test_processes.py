"""Shards over processes of this machine; some of them are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from cluster.drivers.task_pool import MOST_LOSSES
from lab.selfplay.run import Event, Made, Played, ShardLost, TeachingError, make_here, make_shard
from tests.lab.selfplay.terms import NET, terms


def kill_one() -> None:
    """Kill a process that this one has started."""
    child = next(child for child in multiprocessing.active_children() if child.pid)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_process_loses_one_shard_and_another_makes_the_same_one() -> None:
    wanted = terms(nodes=200, games=12)
    heard: list[Event] = []

    def listen(event: Event) -> None:
        if isinstance(event, Played) and not any(isinstance(known, Played) for known in heard):
            kill_one()
        heard.append(event)

    make_here(NET, wanted, range(3), 2, listen)
    (lost,) = [event for event in heard if isinstance(event, ShardLost)]
    assert "died (-9)" in lost.why
    made = {event.number: event for event in heard if isinstance(event, Made)}
    assert sorted(made) == [0, 1, 2]
    assert made[lost.number].data == make_shard(NET, wanted, lost.number).data
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_shard_that_is_lost_again_and_again_ends_it() -> None:
    losses = 0

    def listen(event: Event) -> None:
        nonlocal losses
        losses += isinstance(event, ShardLost)
        kill_one() if isinstance(event, Played) else None

    with pytest.raises(TeachingError, match=f"shard 7 was lost {MOST_LOSSES} times"):
        make_here(NET, terms(nodes=2000, games=400), [7], 1, listen)
    assert losses == MOST_LOSSES - 1
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_what_a_process_cannot_make_is_said() -> None:
    with pytest.raises(TeachingError, match=r"shard 0: .*another version of Gougi \(.*, not other\)"):
        make_here(NET, terms(code="other"), [0], 1, lambda _event: None)
    assert not multiprocessing.active_children()
