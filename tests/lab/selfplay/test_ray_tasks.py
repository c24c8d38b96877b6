"""Shards as tasks of real Ray; a worker process is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.api import FleetError
from cluster.drivers.task_pool import Opened
from lab.selfplay.run import Event, Made, ShardLost, TeachingError, make_on_ray, make_shard
from tests.cluster.processes import family
from tests.cluster.ray_head import Head, ray_head
from tests.lab.selfplay.terms import NET, terms


def makers() -> list[int]:
    """The processes in which tasks run now."""
    found = []
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::make_shard"):
                found.append(pid)
    return found


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with ray_head(2) as head:
        yield head


@pytest.mark.slow
def test_a_killed_worker_loses_one_shard_and_another_makes_the_same_one(head: Head) -> None:
    wanted = terms(nodes=300, games=40)
    heard: list[Event] = []

    def kill_the_first() -> None:
        while not (running := makers()):
            time.sleep(0.05)
        os.kill(running[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first, daemon=True)
    killer.start()
    asyncio.run(make_on_ray(head.address, NET, wanted, range(4), heard.append))
    killer.join(10)
    assert heard[0] == Opened(2)
    made = {event.number: event for event in heard if isinstance(event, Made)}
    assert sorted(made) == [0, 1, 2, 3]
    lost = [event for event in heard if isinstance(event, ShardLost)]
    assert [event.why for event in lost] == ["its process died"]
    assert made[lost[0].number].data == make_shard(NET, wanted, lost[0].number).data
    assert makers() == []


@pytest.mark.slow
def test_a_task_that_fails_says_why(head: Head) -> None:
    with pytest.raises(TeachingError, match=r"shard 0 was lost 3 times: .*another version of Gougi"):
        asyncio.run(make_on_ray(head.address, NET, terms(code="other"), [0], lambda _event: None))


def test_where_no_ray_is_that_is_said() -> None:
    with pytest.raises(FleetError, match=r"no Ray cluster at 127\.0\.0\.1:1: "):
        asyncio.run(make_on_ray("127.0.0.1:1", NET, terms(), [0], lambda _event: None))
