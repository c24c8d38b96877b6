"""Parallel tasks: games of a match or of the laboratory, or records for a book; and our worker processes, which do
these tasks or carry out orders."""

from __future__ import annotations

import multiprocessing
import signal
from _thread import start_new_thread
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

Task = TypeVar("Task", contravariant=True)
Result = TypeVar("Result", covariant=True)


class Workplace(Protocol[Task, Result]):
    """Does one task after the other: the players of a game, or a process. Only one thread at a time may call it, except
    for `end`."""

    def do(self, task: Task, /) -> Result:
        """Do a task."""

    def end(self) -> None:
        """End the running task at once, whose `do` then raises; from any thread."""

    def close(self) -> None:
        """Release players and processes."""


def side_by_side(places: Sequence[Workplace[Task, Result]], tasks: Iterable[Task]) -> Generator[Result]:
    """Do ``tasks``, with a thread for each workplace; yields results in the order of completion.

    A workplace gets its next task when its last result has been consumed, so a result can influence the remaining
    tasks, and results do not pile up. After each result, every idle workplace asks ``tasks`` again, even if there was
    no task before.

    Closing the generator, or an exception in its caller (Ctrl-C), ends the running tasks. So does an exception of a
    workplace, which is raised here. All workplaces are closed at the end.
    """
    left = iter(tasks)
    # Ctrl-C may interrupt any line of this function. A SimpleQueue survives that, because each call is one step of
    # compiled code. The same is true of _thread. An interrupted Future, ThreadPoolExecutor or Thread may keep a lock.
    finished: SimpleQueue[_PlaceThread[Task, Result]] = SimpleQueue()
    threads = [_PlaceThread(place, finished) for place in places]
    idle, running = threads[::-1], set[_PlaceThread[Task, Result]]()

    def start() -> None:
        for task in islice(left, len(idle)):
            thread = idle.pop()
            running.add(thread)
            thread.tasks.put((task,))

    try:
        for thread in threads:
            start_new_thread(thread.run, ())
        start()
        while running:
            thread = finished.get()
            running.remove(thread)
            idle.append(thread)
            yield thread.result()
            start()
    except BaseException:
        for thread in running:
            thread.place.end()
        raise
    finally:
        for thread in threads:
            thread.tasks.put(None)
        for thread in threads:
            thread.close()


_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class _PlaceThread(Generic[_Task, _Result]):
    """A workplace's thread: does the tasks that are put into ``tasks``, each in a tuple; None closes the workplace.

    Args:
        finished: receives this thread after each task.
    """

    def __init__(self, place: Workplace[_Task, _Result], finished: SimpleQueue[_PlaceThread[_Task, _Result]]) -> None:
        self.place = place
        self.tasks: SimpleQueue[tuple[_Task] | None] = SimpleQueue()
        self._finished = finished
        self._results: SimpleQueue[_Result | _Failed] = SimpleQueue()
        self._closed: SimpleQueue[_Failed | None] = SimpleQueue()
        self._unused: SimpleQueue[None] = SimpleQueue()
        self._unused.put(None)

    def run(self) -> None:
        """Do the tasks until None comes; nothing if another thread does them."""
        try:
            self._unused.get_nowait()
        except Empty:
            return
        while (task := self.tasks.get()) is not None:
            try:
                self._results.put(self.place.do(*task))
            except BaseException as error:
                self._results.put(_Failed(error))
            self._finished.put(self)
        try:
            self.place.close()
            self._closed.put(None)
        except BaseException as error:
            self._closed.put(_Failed(error))

    def result(self) -> _Result:
        """The result of the last task, or its exception."""
        result = self._results.get()
        if isinstance(result, _Failed):
            raise result.error
        return result

    def close(self) -> None:
        """Wait until the workplace is closed; raises the exception of that."""
        self.run()  # Ctrl-C may have come before the thread was started
        failed = self._closed.get()
        if failed is not None:
            raise failed.error


@dataclass(frozen=True)
class _Failed:
    """An exception on its way from one thread to another."""

    error: BaseException


_DYING_S = 5.0
"""The longest wait, in seconds, between the end of a process's pipe and its exit code."""


class ProcessDied(Exception):
    """The process has ended; the text says how it ended."""


class WorkFailed(Exception):
    """An order could not be carried out: the name of the error's type in the process, and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class WorkProcess:
    """The handle of a worker process.

    Args:
        work: called in the process with a function that sends a value back at once, and with the parts of an order; its
            result is sent back too. It and all values must pickle.
    """

    def __init__(self, work: Callable[..., object]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with _deaf():
            self._process.start()
        theirs.close()

    def order(self, *parts: object) -> None:
        """Send an order. If the process is dead, `hear` reports it."""
        with suppress(OSError):
            self.connection.send(parts)

    def hear(self) -> Any:
        """Wait for the next value. Raises ProcessDied, WorkFailed."""
        try:
            said = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(_DYING_S)
            raise ProcessDied(f"its process died ({self._process.exitcode})") from None
        if isinstance(said, WorkFailed):
            raise said
        return said

    def kill(self) -> None:
        """End the process at once, from any thread: a thread that waits in `hear` gets ProcessDied."""
        self._process.kill()

    def close(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class ProcessWorkplace(Generic[_Task, _Result]):
    """A process as a workplace of `cluster.machine.side_by_side`. The process starts with the first task.

    Args:
        work: as for `WorkProcess`, called with a whole task.
        refused: makes the exception for a failed task, from the task and the reason.
    """

    def __init__(self, work: Callable[..., _Result], refused: Callable[[_Task, Exception], Exception]) -> None:
        self._work = work
        self._refused = refused
        self._process: WorkProcess | None = None
        self._ended = False

    def do(self, task: _Task) -> _Result:
        """Let the process do a task. Raises the exception made by ``refused`` if it failed or the process died."""
        if self._process is None:
            self._process = WorkProcess(self._work)
        try:
            if self._ended:
                raise ProcessDied("its process was ended")
            self._process.order(task)
            result: _Result = self._process.hear()
        except (ProcessDied, WorkFailed) as error:
            raise self._refused(task, error) from None
        return result

    def end(self) -> None:
        """End the process, and the task in it."""
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()


@contextmanager
def _deaf() -> Iterator[None]:
    """A process that is started in this context never receives Ctrl-C, which a terminal sends to all; this process
    receives it, and SIGTERM, afterwards: a process that was started halfway would complain."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # started with the first process, it would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, work: Callable[..., object]) -> None:
    """The process: do the work that arrives, until the other end is closed."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    while True:
        try:
            connection.send(work(connection.send, *connection.recv()))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            connection.send(WorkFailed(type(error).__name__, str(error)))
            return
