"""Tasks side by side: games of a match or of the laboratory, records that a book is made of."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Protocol, TypeVar

Task = TypeVar("Task", contravariant=True)
Result = TypeVar("Result", covariant=True)


class Workplace(Protocol[Task, Result]):
    """Does one task after the other: the players of a game, a process. One thread at a time asks it, but for `end`."""

    def do(self, task: Task, /) -> Result:
        """Do a task."""

    def end(self) -> None:
        """End the running task at once, whose `do` then raises; from any thread."""

    def close(self) -> None:
        """Let go of players and processes."""


def side_by_side(places: Sequence[Workplace[Task, Result]], tasks: Iterable[Task]) -> Generator[Result]:
    """Do ``tasks``, a thread for each workplace; the results, as they come.

    A workplace gets its next task when its last result has been taken: so a result can decide what is still to be done,
    and results do not pile up.

    Closing the generator, or an exception in its caller (Ctrl-C), ends the running tasks. An exception of a workplace
    does so too, and comes out here. All are closed in the end.
    """
    left = iter(tasks)
    running: dict[Future[Result], Workplace[Task, Result]] = {}
    with ThreadPoolExecutor(max(1, len(places)), thread_name_prefix="place") as threads:
        try:
            for place, task in zip(places, left, strict=False):
                running[threads.submit(place.do, task)] = place
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    place = running.pop(done)
                    yield done.result()
                    for task in islice(left, 1):
                        running[threads.submit(place.do, task)] = place
        except BaseException:
            for place in running.values():
                place.end()
            raise
        finally:
            for closed in [threads.submit(place.close) for place in places]:
                closed.result()
