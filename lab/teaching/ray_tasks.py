"""Shards as tasks of a fleet (`cluster.drivers.task_pool`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from cluster.drivers.task_pool import Losses, Opened, run_tasks
from lab.teaching.terms import Listener, Made, ShardLost, ShardTerms, TeachingError, make_shard


class _Shards:
    """The shards that are still to be made."""

    def __init__(self, terms: ShardTerms, numbers: Iterable[int], on_event: Listener) -> None:
        self._terms = terms
        self._waiting = deque(numbers)
        self._losses = Losses(TeachingError)
        self._on_event = on_event

    def opened(self, nodes: int) -> None:
        self._on_event(Opened(nodes))

    def take(self) -> tuple[int, tuple[ShardTerms, int]] | None:
        if not self._waiting:
            return None
        number = self._waiting.popleft()
        return number, (self._terms, number)

    def done(self, result: Made) -> None:
        self._on_event(result)

    def lost(self, name: int, why: str) -> None:
        self._losses.add(f"shard {name}", why)
        self._waiting.appendleft(name)
        self._on_event(ShardLost(name, why))


async def make_on_ray(address: str, net: bytes, terms: ShardTerms, numbers: Iterable[int], on_event: Listener) -> None:
    """Make the shards of these numbers on a fleet; ``on_event`` gets each as it is made, and each loss.

    Args:
        address: ``host:port`` or ``auto`` of a Ray cluster that runs.

    Raises:
        FleetError: there is no such cluster.
        TeachingError: Ray was lost, or a shard cannot be made.
    """
    await run_tasks(address, net, make_shard, _Shards(terms, numbers, on_event), TeachingError)
