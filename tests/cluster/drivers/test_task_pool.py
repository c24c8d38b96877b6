"""Tasks on a growing fleet, over a fake Ray."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import pytest

from cluster.api import FleetError
from cluster.drivers import task_pool
from cluster.drivers.ray_cluster import ActorDied, RayFacts
from cluster.drivers.ray_process import RayLost
from cluster.drivers.task_pool import Opened, Task, TaskLost, TaskQueue, run_tasks


class GrowingRay:
    """A Ray that gets another machine after each task."""

    machines = 1
    most = 0

    def __init__(self, _address: str) -> None:
        self._out = 0

    async def ask(self, method: str, *arguments: object) -> Any:
        return await getattr(self, method)(*arguments)

    async def open(self) -> RayFacts:
        return RayFacts("10.0.0.1", self.machines, "10.0.0.1:6379")

    async def share(self, _value: object) -> int:
        return 1

    async def places(self) -> int:
        type(self).machines += 1
        return self.machines

    async def run_task(self, function: Callable[..., int], _shared: int, number: int) -> int:
        self._out += 1
        type(self).most = max(self.most, self._out)
        await asyncio.sleep(0)
        self._out -= 1
        return function(number)

    async def close(self) -> None:
        pass


class Heard:
    """The messages of a pool."""

    def __init__(self) -> None:
        self.results: list[int] = []
        self.losses: list[TaskLost] = []

    def __call__(self, event: object) -> None:
        match event:
            case int():
                self.results.append(event)
            case TaskLost():
                self.losses.append(event)
            case Opened(nodes):
                assert nodes >= 1


def tasks(*numbers: int) -> TaskQueue:
    return TaskQueue(Task(str(number), (number,)) for number in numbers)


def half(_shared: None, number: int) -> int:
    """A task that fails for odd numbers; 100 kills its process."""
    if number == 100:
        os._exit(9)
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_tasks_of_this_machine() -> None:
    heard = Heard()
    with pytest.raises(FleetError, match="100 was lost 3 times"):
        run_tasks(2, None, half, tasks(2, 4, 6, 100), heard, FleetError)
    assert sorted(heard.results) == [1, 2, 3]
    assert heard.losses == [TaskLost("100", "its process died (9)")] * 2
    with pytest.raises(FleetError, match="3: 3 is odd"):
        run_tasks(1, None, half, tasks(3), heard, FleetError)
    assert not multiprocessing.active_children()


def test_machines_that_join_get_tasks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_pool, "RayProcess", GrowingRay)
    heard = Heard()
    run_tasks("10.0.0.1:6379", None, lambda number: number**2, tasks(*range(200)), heard, FleetError)
    assert sorted(heard.results) == [number**2 for number in range(200)]
    assert GrowingRay.most > 16


class LostRay(GrowingRay):
    """A Ray whose head answers one question with an error."""

    async def places(self) -> int:
        raise ActorDied("the head is busy")


class HalfLostRay(GrowingRay):
    """A Ray that ends while the results of other tasks come."""

    async def open(self) -> RayFacts:
        self._all = asyncio.Event()
        return await super().open()

    async def run_task(self, function: Callable[..., int], _shared: int, number: int) -> int:
        self._out += 1
        if self._out == 8:
            self._all.set()
        await self._all.wait()
        if number % 2:
            raise RayLost("no answer")
        return function(number)


class SlowlyLostRay(GrowingRay):
    """A Ray whose head is gone, while its machines go on for a moment."""

    async def open(self) -> RayFacts:
        self._asked = asyncio.Event()
        return await super().open()

    async def run_task(self, function: Callable[..., int], _shared: int, number: int) -> int:
        if number == 0:
            await self._asked.wait()
        return function(number)

    async def places(self) -> int:
        self._asked.set()
        for _ in range(5):
            await asyncio.sleep(0)
        raise RayLost("no answer for 10 s")


def test_a_result_that_comes_while_ray_is_asked_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_pool, "RayProcess", SlowlyLostRay)
    heard = Heard()
    with pytest.raises(FleetError, match="Ray is gone: no answer for 10 s"):
        run_tasks("10.0.0.1:6379", None, lambda number: number + 5, tasks(0, 1), heard, FleetError)
    assert sorted(heard.results) == [5, 6]


@pytest.mark.parametrize(("kind", "why"), [(LostRay, "the head is busy"), (HalfLostRay, "no answer")])
def test_the_end_of_ray_is_told_and_no_result_is_lost(
    kind: type[GrowingRay], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_pool, "RayProcess", kind)
    heard = Heard()
    with pytest.raises(FleetError, match=f"Ray is gone: {why}"):
        run_tasks("10.0.0.1:6379", None, lambda number: number**2, tasks(*range(8)), heard, FleetError)
    assert kind is LostRay or sorted(heard.results) == [number**2 for number in range(8) if number % 2 == 0]
