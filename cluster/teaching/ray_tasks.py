"""Shards as tasks of a fleet: each goes to a machine that has room, and to another one where that machine dies.

A task keeps nothing between shards but compiled code and the network, so nodes may come and go at any time; what is
lost with one is the shard that it was at.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from cluster.ray_cluster import ActorDied
from cluster.ray_process import RayLost, RayProcess
from cluster.teaching.orders import Listener, Losses, Lost, Made, Opened, Order, TeachingError, make_shard

_AHEAD = 2
"""Shards asked for, for each node that there is: one that has made its shard finds the next one waiting."""
_LEAST_AHEAD = 16
"""So many at least: machines that join get some at once."""


async def make_on_ray(
    address: str | None, nodes: int, net: bytes, order: Order, numbers: Iterable[int], on_event: Listener
) -> None:
    """Make the shards of these numbers on a fleet; ``on_event`` gets each as it is made, and each loss.

    Args:
        address: ``host:port`` or ``auto`` of a Ray cluster that runs; None: one is started on this machine.
        nodes: how many nodes a cluster of our own offers.

    Raises:
        FleetError: there is no such cluster.
        TeachingError: Ray was lost, or a shard cannot be made.
    """
    ray = RayProcess(address, nodes)
    running: dict[asyncio.Task[Made], int] = {}
    try:
        facts = await ray.open()
        on_event(Opened(facts.capacity))
        shared = await ray.share(net)
        waiting, losses = deque(numbers), Losses()
        most = max(_LEAST_AHEAD, _AHEAD * facts.capacity)
        while waiting or running:
            while waiting and len(running) < most:
                number = waiting.popleft()
                running[asyncio.ensure_future(ray.work(make_shard, shared, order, number))] = number
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                number = running.pop(task)
                try:
                    on_event(task.result())
                except RayLost as error:
                    raise TeachingError(f"Ray is gone: {error}") from error
                except ActorDied as error:
                    lost = Lost(number, str(error))
                    losses.add(lost)
                    waiting.appendleft(number)
                    on_event(lost)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await ray.close()
