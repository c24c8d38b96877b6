"""Values of an iterator that a separate thread produces in advance."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lab.training.corpus import Corpus, Records, chunks_from
from lab.training.features import RowTables
from lab.training.replay import write_rows

T = TypeVar("T")

_WAIT_S: Final = 0.2


class Ahead(Generic[T]):
    """An iterator over the values of another one, up to ``depth`` of which are ready in advance.

    Exceptions of the other iterator are raised here, in sequence. `close` ends the thread; so does the end of the
    ``with``.
    """

    def __init__(self, source: Iterator[T], depth: int, name: str) -> None:
        self._source = source
        self._ready: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(depth)
        self._closed = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for value in self._source:
                if not self._hand_over((value,)):
                    return
            self._hand_over(None)
        except BaseException as error:
            self._hand_over(error)

    def _hand_over(self, value: tuple[T] | BaseException | None) -> bool:
        """Wait for room. False: it was closed meanwhile."""
        while not self._closed.is_set():
            try:
                self._ready.put(value, timeout=_WAIT_S)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self) -> Ahead[T]:
        return self

    def __next__(self) -> T:
        if self._over:
            raise StopIteration
        value = self._ready.get()
        if isinstance(value, tuple):
            return value[0]
        self._over = True
        if value is None:
            raise StopIteration
        raise value

    def close(self) -> None:
        """End the thread; values that are ready are discarded."""
        self._over = True
        self._closed.set()
        self._thread.join()

    def __enter__(self) -> Ahead[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_AHEAD: Final = 4
"""Maximum number of batches that are ready in advance."""

Rows = Any
"""Rows of the feature transformer, int [n][active]: a numpy array, or a tensor on a GPU."""


@dataclass(frozen=True, slots=True)
class BatchNumber:
    """The number of a batch in the overall order."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


START: Final = BatchNumber()


@dataclass(frozen=True, slots=True)
class Batch:
    """Some positions, as numpy arrays or as tensors on a GPU.

    Attributes:
        own, enemy: rows that they activate as the side to move and as the other side sees them, int [n][active].
        scores: float32 [n], centipawns from the side to move.
        results: float32 [n]: 1 if the side to move wins, 0 if it loses, 0.5 for a draw.
        after: the number of the next batch.
    """

    own: Rows
    enemy: Rows
    scores: Any
    results: Any
    after: BatchNumber = START

    def __len__(self) -> int:
        return len(self.scores)


def make_batch(
    tables: RowTables,
    records: Records,
    order: npt.NDArray[np.int64],
    after: BatchNumber = START,
    mirror: RowTables | None = None,
) -> Batch:
    """The records with the indices ``order`` as a batch; if ``mirror`` is given, it is used for the second half of
    them."""
    count = len(order)
    own, enemy = (np.empty((count, tables.active), np.int32) for _ in range(2))
    places = np.ascontiguousarray(order, np.int64)
    plain = count if mirror is None else count // 2
    for used, part in ((tables, slice(0, plain)), (mirror or tables, slice(plain, count))):
        write_rows(
            records.ctypes.data, places[part].ctypes.data, len(places[part]), used.flip.ctypes.data,
            used.planes.ctypes.data, used.blocks.ctypes.data, used.active, own[part].ctypes.data,
            enemy[part].ctypes.data,
        )  # fmt: skip
    fields: Any = records
    scores = fields["score"][places].astype(np.float32)
    results = (fields["result"][places].astype(np.float32) + 1) / 2
    return Batch(own, enemy, scores, results, after)


def cut(count: int, size: int) -> list[tuple[int, int]]:
    """Start and end of each batch of a number of positions: as even as possible, none larger than ``size``."""
    number = -(-count // size)
    edges = [count * place // number for place in range(number + 1)]
    return list(itertools.pairwise(edges))


@contextmanager
def training_batches(
    corpus: Corpus,
    tables: RowTables,
    size: int,
    seed: int,
    first: BatchNumber,
    threads: int,
    mirror: RowTables | None = None,
) -> Iterator[Iterator[Batch]]:
    """Endless batches of the training positions, from ``first`` on; threads make them until the ``with`` ends.

    Args:
        size: maximum positions of a batch.
        threads: number of threads that replay games.
        mirror: tables for half of the positions, a different half in each epoch.
    """
    with Ahead(chunks_from(corpus, seed, first.epoch, first.chunk, threads), 1, "chunks") as chunks:

        def make() -> Iterator[Batch]:
            begin = first.batch
            for epoch, number, is_last, records, order in chunks:
                edges = cut(len(order), size)
                follows = BatchNumber(epoch + 1) if is_last else BatchNumber(epoch, number + 1)
                for batch in range(begin, len(edges)):
                    low, high = edges[batch]
                    after = BatchNumber(epoch, number, batch + 1) if batch + 1 < len(edges) else follows
                    yield make_batch(tables, records, order[low:high], after, mirror)
                begin = 0

        with Ahead(make(), _AHEAD, "batches") as batches:
            yield batches


def batches_of(tables: RowTables, records: Records, size: int) -> Iterator[Batch]:
    """All records in their order."""
    for low, high in cut(len(records), size):
        yield make_batch(tables, records, np.arange(low, high))
