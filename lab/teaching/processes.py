"""Shards over several processes of this machine. One that dies loses its shard, which another makes again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.connection import Connection, wait

from cluster.drivers.task_pool import Losses
from cluster.machine.side_by_side import ProcessDied, WorkFailed, WorkProcess
from lab.teaching.terms import (
    Event,
    Listener,
    Made,
    Played,
    ShardLost,
    ShardTerms,
    TeachingError,
    make_shard,
)


class _Maker(WorkProcess):
    """A process that makes shards, and the one that it is at."""

    number = -1

    def make(self, number: int) -> None:
        self.number = number
        self.order(number)

    def event(self) -> Event:
        """Wait for its next event; `ShardLost` where it is dead. Raises TeachingError: it cannot make its shard."""
        try:
            event: Played | Made = self.hear()
        except ProcessDied as error:
            return ShardLost(self.number, str(error))
        except WorkFailed as error:
            raise TeachingError(f"shard {self.number}: {error.text or error.kind}") from None
        return event


def make_here(net: bytes, terms: ShardTerms, numbers: Iterable[int], processes: int, on_event: Listener) -> None:
    """Make the shards of these numbers in ``processes`` processes; ``on_event`` gets each as it is made.

    An exception of ``on_event``, or Ctrl-C, ends the processes and the shards in them at once.

    Raises:
        TeachingError: a shard cannot be made.
    """
    waiting = deque(numbers)
    losses = Losses(TeachingError)
    makers: dict[Connection, _Maker] = {}
    try:
        while waiting or makers:
            while waiting and len(makers) < processes:
                maker = _Maker(partial(_make, net, terms))
                makers[maker.connection] = maker
                maker.make(waiting.popleft())
            for ready in wait(list(makers)):
                assert isinstance(ready, Connection)
                maker = makers[ready]
                event = maker.event()
                if isinstance(event, ShardLost):
                    losses.add(f"shard {event.number}", event.why)
                    waiting.appendleft(event.number)
                on_event(event)
                if isinstance(event, Made) and waiting:
                    maker.make(waiting.popleft())
                elif not isinstance(event, Played):
                    makers.pop(ready).close()
    finally:
        for maker in makers.values():
            maker.close()


def _make(net: bytes, terms: ShardTerms, tell: Callable[[Event], None], number: int) -> Made:
    return make_shard(net, terms, number, tell)
