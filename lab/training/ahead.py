"""Values of an iterator that are made ahead, by a thread of their own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_WAIT_S: Final = 0.2


class Ahead(Generic[T]):
    """An iterator over what another one gives, ``depth`` values of which are ready before they are asked for.

    What the other one raises is raised here, in its place. `close` ends the thread; so does the end of the ``with``.
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
        """End the thread; values that are ready are lost."""
        self._over = True
        self._closed.set()
        self._thread.join()

    def __enter__(self) -> Ahead[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
