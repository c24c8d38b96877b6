"""Shards over processes of this machine and as tasks of real Ray; a worker process is killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.api import FleetError
from cluster.drivers.task_pool import Opened, TaskLost
from lab.selfplay.folder import Made, TeachingError
from lab.selfplay.run import Event, ShardsProgress, make_shard, make_shards
from tests.cluster.processes import family
from tests.cluster.ray_head import Head, ray_head
from tests.lab.selfplay.terms import NET, terms


def kill_the_first(running: Callable[[], list[int]]) -> threading.Thread:
    """Kill, from a thread, the first process that ``running`` finds."""

    def kill() -> None:
        while not (found := running()):
            time.sleep(0.05)
        os.kill(found[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    return killer


def children() -> list[int]:
    """The processes of this machine that now make shards."""
    return [child.pid for child in multiprocessing.active_children() if child.pid]


def makers() -> list[int]:
    """The processes that now run tasks."""
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


def lose_one(place: int | str, running: Callable[[], list[int]]) -> None:
    wanted = terms(nodes=300, games=40)
    heard: list[Event] = []
    killer = kill_the_first(running)
    make_shards(place, NET, wanted, range(4), heard.append)
    killer.join(10)
    assert heard[0] == Opened(2)
    made = {event.number: event for event in heard if isinstance(event, Made)}
    assert sorted(made) == [0, 1, 2, 3]
    (lost,) = [event for event in heard if isinstance(event, TaskLost)]
    assert "its process died" in lost.why
    number = int(lost.name.removeprefix("shard "))
    assert made[number].data == make_shard(NET, wanted, number).data
    assert running() == []


@pytest.mark.slow
def test_a_killed_process_loses_one_shard_and_another_makes_the_same_one() -> None:
    lose_one(2, children)


@pytest.mark.slow
def test_a_killed_worker_of_ray_loses_one_shard_and_another_makes_the_same_one(head: Head) -> None:
    lose_one(head.address, makers)


@pytest.mark.slow
def test_an_impossible_shard_is_reported(head: Head) -> None:
    with pytest.raises(TeachingError, match=r"shard 0: .*another version of Gougi \(.*, not other\)"):
        make_shards(1, NET, terms(code="other"), [0], lambda _event: None)
    assert not children()
    with pytest.raises(TeachingError, match=r"shard 0 was lost 3 times: .*another version of Gougi"):
        make_shards(head.address, NET, terms(code="other"), [0], lambda _event: None)


def test_a_missing_ray_is_reported() -> None:
    with pytest.raises(FleetError, match=r"no Ray cluster at 127\.0\.0\.1:1: "):
        make_shards("127.0.0.1:1", NET, terms(), [0], lambda _event: None)


def test_the_progress_counts_earlier_shards(capsys: pytest.CaptureFixture[str]) -> None:
    progress = ShardsProgress(4000, [{"games": 1000, "positions": 90_000}])
    for event in (TaskLost("shard 1", "its process died"), Made(1, b"", 1000, 100_000, 10.0)):
        progress.take(event)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "shard 1 is lost: its process died; it is made again"
    assert lines[1].startswith("2,000/4,000 games, 190,000 positions kept, 10,000 positions a CPU second"), lines[1]
