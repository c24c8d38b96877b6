"""A pool of tasks: on a fleet each task goes to a machine with room, and to another one if that machine dies; on one
machine it goes to one of several processes.

A task is a function call. Between tasks its process keeps only compiled code and the shared value, so machines may join
and leave at any time; only the tasks that run on a lost machine are lost, and they are repeated.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from cluster.drivers.ray_cluster import ActorDied
from cluster.drivers.ray_process import RayLost, RayProcess
from cluster.machine.side_by_side import ProcessDied, WorkFailed, WorkProcess

_AHEAD = 2
"""Tasks sent out for each node: when a node has finished a task, the next one is already waiting."""
_LEAST_AHEAD = 16
"""The least number of tasks sent out, so that machines that join get some at once."""
MOST_LOSSES = 3
"""A task that is lost this often is not tried again: the task is at fault, not the machines."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The fleet is open."""

    nodes: int
    """The number of nodes for which its machines have room now."""


class Losses:
    """Counts the losses of each task.

    Args:
        refused: the exception to raise after too many losses.
    """

    def __init__(self, refused: type[Exception]) -> None:
        self._refused = refused
        self._counts: Counter[str] = Counter()

    def add(self, name: str, why: str) -> None:
        """Count a loss of the task with that name. Raises ``refused`` if it was lost too often."""
        self._counts[name] += 1
        if self._counts[name] >= MOST_LOSSES:
            raise self._refused(f"{name} was lost {MOST_LOSSES} times: {why}")


class TaskSource(Protocol):
    """Provides tasks and takes their results. An exception of a method ends `run_tasks` at once."""

    def opened(self, nodes: int) -> None:
        """The fleet is open; its machines now have room for this number of nodes."""

    def take(self) -> tuple[Any, tuple[object, ...]] | None:
        """The next task: its name, and the arguments of its function. None: there is none now."""

    def done(self, result: Any) -> None:
        """Take the result of a task."""

    def lost(self, name: Any, why: str) -> None:
        """Put a task back: the process that ran it died."""


def run_tasks_here(
    processes: int,
    shared: object,
    function: Callable[..., Any],
    source: TaskSource,
    refused: type[Exception],
) -> None:
    """Run ``function(shared, *arguments)`` for each task of ``source`` in ``processes`` processes on this machine,
    until none is left. An exception of ``source``, or Ctrl-C, ends the processes and the tasks in them at once.

    Raises:
        refused: a task cannot be done.
    """
    running: dict[Connection, tuple[WorkProcess, Any]] = {}
    idle: list[WorkProcess] = []
    source.opened(processes)
    try:
        while True:
            while len(running) < processes and (task := source.take()) is not None:
                name, arguments = task
                worker = idle.pop() if idle else WorkProcess(partial(_do, function, shared))
                running[worker.connection] = (worker, name)
                worker.order(*arguments)
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                worker, name = running[ready]
                try:
                    result = worker.hear()
                except ProcessDied as error:
                    del running[ready]
                    worker.close()
                    source.lost(name, str(error))
                except WorkFailed as failure:
                    raise refused(f"{name}: {failure.text or failure.kind}") from None
                else:
                    del running[ready]
                    idle.append(worker)
                    source.done(result)
    finally:
        for worker in (*idle, *(worker for worker, _ in running.values())):
            worker.close()


def _do(function: Callable[..., Any], shared: object, _tell: object, *arguments: object) -> Any:
    return function(shared, *arguments)


async def run_tasks(
    address: str,
    shared: object,
    function: Callable[..., Any],
    source: TaskSource,
    refused: type[Exception],
) -> None:
    """Run ``function(shared, *arguments)`` for each task of ``source`` on a fleet, until none is left and none runs.

    Args:
        address: ``host:port`` or ``auto`` of a running Ray cluster.

    Raises:
        FleetError: there is no such cluster.
        refused: Ray is gone.
    """
    ray = RayProcess(address)
    running: dict[asyncio.Future[Any], Any] = {}
    try:
        facts = await ray.open()
        source.opened(facts.capacity)
        reference = await ray.ask("share", shared)
        places = facts.capacity
        while True:
            while len(running) < max(_LEAST_AHEAD, _AHEAD * places) and (task := source.take()) is not None:
                name, arguments = task
                running[asyncio.ensure_future(ray.ask("run_task", function, reference, *arguments))] = name
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for future in sorted(done, key=lambda one: one.exception() is not None):  # no result is lost with Ray
                name = running.pop(future)
                try:
                    result = future.result()
                except RayLost:
                    raise
                except ActorDied as error:
                    source.lost(name, str(error))
                else:
                    source.done(result)
            places = await ray.ask("places")  # machines have joined or left
    except ActorDied as error:
        # Tasks that finished during the query (up to its time limit) are not lost with it.
        for future in [one for one in running if one.done() and one.exception() is None]:
            del running[future]
            source.done(future.result())
        raise refused(f"Ray is gone: {error}") from error
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await ray.close()
