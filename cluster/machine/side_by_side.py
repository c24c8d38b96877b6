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
    and results do not pile up. With each result ``tasks`` is asked again for every workplace that has none, even if it
    had nothing left before.

    Closing the generator, or an exception in its caller (Ctrl-C), ends the running tasks. An exception of a workplace
    does so too, and comes out here. All are closed in the end.
    """
    left, idle = iter(tasks), list(reversed(places))
    running: dict[Future[Result], Workplace[Task, Result]] = {}
    with ThreadPoolExecutor(max(1, len(places)), thread_name_prefix="place") as threads:

        def start() -> None:
            for task in islice(left, len(idle)):
                place = idle.pop()
                running[threads.submit(place.do, task)] = place

        try:
            start()
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    idle.append(running.pop(done))
                    yield done.result()
                    start()
        except BaseException:
            for place in running.values():
                place.end()
            raise
        finally:
            for closed in [threads.submit(place.close) for place in places]:
                closed.result()
