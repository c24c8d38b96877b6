"""A pool of tasks: on a fleet each task goes to a machine with room, and to another one if that machine dies; on one
machine it goes to one of several processes.

A task is a function call. Between tasks its process keeps only compiled code and the shared value, so machines may join
and leave at any time; only the tasks that run on a lost machine are lost, and they are repeated.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from cluster.drivers.ray_cluster import ActorDied
from cluster.drivers.ray_process import RayLost, RayProcess
from cluster.machine.side_by_side import ProcessDied, WorkFailed, WorkProcess

_AHEAD = 2
"""Tasks sent out for each node: when a node has finished a task, the next one is already waiting."""
_LEAST_AHEAD = 16
"""The least number of tasks sent out, so that machines that join get some at once."""
_MOST_LOSSES = 3
"""A task that is lost this often is not tried again: the task is at fault, not the machines."""


class Task(NamedTuple):
    """A call to make: its name for people, and the arguments of its function after the shared value."""

    name: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """The pool is open."""

    nodes: int
    """The number of nodes for which its machines have room now."""


@dataclass(frozen=True, slots=True)
class TaskLost:
    """The process that did a task died; the task is done again."""

    name: str
    why: str


class TaskSource(Protocol):
    """Provides tasks. An exception of a method ends `run_tasks` at once."""

    def take(self) -> Task | None:
        """The next task. None: there is none now."""

    def give_back(self, task: Task) -> None:
        """The process that did this task died: it can be taken again."""


class TaskQueue:
    """A `TaskSource` of tasks that are known from the start; each is made when it is due."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._back: deque[Task] = deque()

    def take(self) -> Task | None:
        return self._back.popleft() if self._back else next(self._tasks, None)

    def give_back(self, task: Task) -> None:
        self._back.append(task)


def run_tasks(
    place: int | str,
    shared: object,
    function: Callable[..., Any],
    source: TaskSource,
    on_event: Callable[[Any], None],
    refused: type[Exception],
) -> None:
    """Run ``function(shared, *arguments)`` for each task of ``source``, until none is left and none runs.

    An exception of ``source`` or ``on_event``, or Ctrl-C, ends the processes and the tasks in them at once.

    Args:
        place: a number of processes of this machine, or the address of a fleet's Ray (``host:port``, ``auto``).
        on_event: called with `Opened`, each result, and `TaskLost`.

    Raises:
        FleetError: there is no such fleet.
        refused: a task cannot be done, or Ray is gone.
    """
    pool = _Pool(source, on_event, refused)
    if isinstance(place, int):
        pool.run_here(place, shared, function)
    else:
        asyncio.run(pool.run_over_ray(RayProcess(place), shared, function))


class _Pool:
    def __init__(self, source: TaskSource, on_event: Callable[[Any], None], refused: type[Exception]) -> None:
        self._source = source
        self._on_event = on_event
        self._refused = refused
        self._losses: Counter[str] = Counter()

    def run_here(self, processes: int, shared: object, function: Callable[..., Any]) -> None:
        running: dict[Connection, tuple[WorkProcess, Task]] = {}
        idle: list[WorkProcess] = []
        self._on_event(Opened(processes))
        try:
            while True:
                while len(running) < processes and (task := self._source.take()) is not None:
                    worker = idle.pop() if idle else WorkProcess(partial(_do, function, shared))
                    running[worker.connection] = (worker, task)
                    worker.order(*task.arguments)
                if not running:
                    return
                for ready in wait(list(running)):
                    assert isinstance(ready, Connection)
                    worker, task = running[ready]
                    try:
                        result = worker.hear()
                    except ProcessDied as error:
                        del running[ready]
                        worker.close()
                        self._lost(task, str(error))
                    except WorkFailed as failure:
                        raise self._refused(f"{task.name}: {failure.text or failure.kind}") from None
                    else:
                        del running[ready]
                        idle.append(worker)
                        self._on_event(result)
        finally:
            for worker in (*idle, *(worker for worker, _ in running.values())):
                worker.close()

    async def run_over_ray(self, ray: RayProcess, shared: object, function: Callable[..., Any]) -> None:
        running: dict[asyncio.Future[Any], Task] = {}
        try:
            facts = await ray.open()
            self._on_event(Opened(facts.capacity))
            reference = await ray.ask("share", shared)
            places = facts.capacity
            while True:
                while len(running) < max(_LEAST_AHEAD, _AHEAD * places) and (task := self._source.take()) is not None:
                    call = ray.ask("run_task", function, reference, *task.arguments)
                    running[asyncio.ensure_future(call)] = task
                if not running:
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for future in sorted(done, key=lambda one: one.exception() is not None):  # no result is lost with Ray
                    task = running.pop(future)
                    try:
                        result = future.result()
                    except RayLost:
                        raise
                    except ActorDied as error:
                        self._lost(task, str(error))
                    else:
                        self._on_event(result)
                places = await ray.ask("places")  # machines have joined or left
        except ActorDied as error:
            # Tasks that finished during the query (up to its time limit) are not lost with it.
            for future in [one for one in running if one.done() and one.exception() is None]:
                del running[future]
                self._on_event(future.result())
            raise self._refused(f"Ray is gone: {error}") from error
        finally:
            for future in running:
                future.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await ray.close()

    def _lost(self, task: Task, why: str) -> None:
        self._losses[task.name] += 1
        if self._losses[task.name] >= _MOST_LOSSES:
            raise self._refused(f"{task.name} was lost {_MOST_LOSSES} times: {why}")
        self._source.give_back(task)
        self._on_event(TaskLost(task.name, why))


def _do(function: Callable[..., Any], shared: object, _tell: object, *arguments: object) -> Any:
    return function(shared, *arguments)
