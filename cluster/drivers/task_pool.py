"""Jobs as tasks of a fleet: each goes to a machine that has room, and to another one where that machine dies.

A task keeps nothing between jobs but compiled code and what it was made of, so nodes may come and go at any time; what
is lost with one is the job that it was at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from cluster.drivers.ray_cluster import ActorDied
from cluster.drivers.ray_process import RayLost, RayProcess

_AHEAD = 2
"""Jobs asked for, for each node that there is: one that has done its job finds the next one waiting."""
_LEAST_AHEAD = 16
"""So many at least: machines that join get some at once."""
MOST_LOSSES = 3
"""A job that is lost so often is not tried again: something is wrong with it, and not with the machines."""


class Work(Protocol):
    """Where jobs come from and results go. An exception of a method ends the work at once."""

    def opened(self, nodes: int) -> None:
        """The fleet is there; its machines have room for so many nodes now."""

    def take(self) -> tuple[Any, tuple[object, ...]] | None:
        """A job to begin: its name, and the arguments of its function. None: there is none now."""

    def done(self, result: Any) -> None:
        """A job's result is there."""

    def lost(self, name: Any, why: str) -> None:
        """Whoever did a job died; it is to be taken again."""


async def work_on_ray(address: str | None, nodes: int, shared: bytes, function: Callable[..., Any], work: Work) -> None:
    """Do all of ``work``: ``function(shared, *arguments)`` for each job, until none is left and none is being done.

    Args:
        address: ``host:port`` or ``auto`` of a Ray cluster that runs; None: one is started on this machine.
        nodes: how many nodes a cluster of our own offers.

    Raises:
        FleetError: there is no such cluster.
        RayLost: Ray is gone.
    """
    ray = RayProcess(address, nodes)
    running: dict[asyncio.Task[Any], Any] = {}
    try:
        facts = await ray.open()
        work.opened(facts.capacity)
        reference = await ray.share(shared)
        most = max(_LEAST_AHEAD, _AHEAD * facts.capacity)
        while True:
            while len(running) < most and (job := work.take()) is not None:
                name, arguments = job
                running[asyncio.ensure_future(ray.work(function, reference, *arguments))] = name
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                name = running.pop(task)
                try:
                    result = task.result()
                except RayLost:
                    raise
                except ActorDied as error:
                    work.lost(name, str(error))
                else:
                    work.done(result)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await ray.close()
