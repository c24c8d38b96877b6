"""Shards over several processes of this machine. One that dies loses its shard, which another makes again."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from cluster.drivers.task_pool import Losses
from cluster.lab.processes import deaf_to_ctrl_c
from cluster.teaching.terms import (
    Event,
    Listener,
    Made,
    Played,
    ShardLost,
    ShardTerms,
    TeachingError,
    make_shard,
)

_ENDING_S = 5.0


class _Maker:
    """A process that makes shards, and the one that it is at."""

    def __init__(self, net: bytes, terms: ShardTerms) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.number = -1
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, net, terms), daemon=True)
        with deaf_to_ctrl_c():
            self.process.start()
        theirs.close()

    def make(self, number: int) -> None:
        self.number = number
        self.connection.send(number)

    def hear(self) -> Event:
        """Wait for its next event; `ShardLost` where it is dead. Raises TeachingError: it cannot make its shard."""
        try:
            said = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(_ENDING_S)
            return ShardLost(self.number, f"its process died ({self.process.exitcode})")
        if isinstance(said, Played | Made):
            return said
        raise TeachingError(f"shard {self.number}: {said}")

    def end(self) -> None:
        """End the process, wherever it is."""
        self.process.kill()
        self.process.join()
        self.connection.close()


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
                maker = _Maker(net, terms)
                makers[maker.connection] = maker
                maker.make(waiting.popleft())
            for ready in wait(list(makers)):
                assert isinstance(ready, Connection)
                maker = makers[ready]
                event = maker.hear()
                if isinstance(event, ShardLost):
                    losses.add(f"shard {event.number}", event.why)
                    waiting.appendleft(event.number)
                on_event(event)
                if isinstance(event, Made) and waiting:
                    maker.make(waiting.popleft())
                elif not isinstance(event, Played):
                    makers.pop(ready).end()
    finally:
        for maker in makers.values():
            maker.end()


def _work(connection: Connection, net: bytes, terms: ShardTerms) -> None:
    """A process: make what comes, until the other end is closed."""
    while True:
        try:
            connection.send(make_shard(net, terms, connection.recv(), connection.send))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            connection.send(str(error) or type(error).__name__)
            return
