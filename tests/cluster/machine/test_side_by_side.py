"""Parallel tasks, on workers that only count."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cluster.machine.side_by_side import ProcessDied, ProcessWorkplace, WorkFailed, WorkProcess, side_by_side


class Counting:
    """Performs tasks that are numbers; those in ``slow`` last until the worker is ended, ``bad`` fail."""

    def __init__(self, slow: frozenset[int] = frozenset(), bad: frozenset[int] = frozenset()) -> None:
        self.done: list[int] = []
        self.closed = 0
        self._slow = slow
        self._bad = bad
        self._ended = threading.Event()

    def do(self, task: int) -> int:
        if task in self._bad:
            raise ValueError(f"task {task}")
        if task in self._slow:
            assert self._ended.wait(30)
            raise InterruptedError
        self.done.append(task)
        return 10 * task

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def end(self) -> None:
        self._ended.set()

    def close(self) -> None:
        self.closed += 1


def test_every_task_is_done_once_and_every_place_closed() -> None:
    places = [Counting() for _ in range(3)]
    assert sorted(side_by_side(places, range(20))) == [10 * number for number in range(20)]
    assert sorted(task for place in places for task in place.done) == list(range(20))
    assert [place.closed for place in places] == [1, 1, 1]
    assert list(side_by_side(places, [])) == []
    assert list(side_by_side([], [])) == []


def test_a_task_is_taken_after_the_result_before_it() -> None:
    """Thus a result can decide that there is nothing more to do."""
    results: list[int] = []

    def due() -> Iterator[int]:
        number = 0
        while len(results) < 3:
            yield number
            number += 1

    for result in side_by_side([Counting()], due()):
        results.append(result)  # noqa: PERF402
    assert results == [0, 10, 20]


def test_all_workers_go_on_when_there_are_tasks_again() -> None:
    """A game that ends late may reopen a test that was decided; then two workers play again, not one."""
    results: list[int] = []
    both = threading.Barrier(2)

    class Due(Iterator[int]):
        def __init__(self) -> None:
            self.left = [0, 1, 2, 3]

        def __next__(self) -> int:
            if not self.left or len(results) == 1:
                raise StopIteration
            return self.left.pop(0)

    class Together(Counting):
        def do(self, task: int) -> int:
            if task >= 2:
                both.wait(30)
            return super().do(task)

    for result in side_by_side([Together(), Together()], Due()):
        results.append(result)  # noqa: PERF402
    assert sorted(results) == [0, 10, 20, 30]


def test_a_failure_ends_the_others() -> None:
    places = [Counting(slow=frozenset({0, 1}), bad=frozenset({2})) for _ in range(3)]
    with pytest.raises(ValueError, match="task 2"):
        list(side_by_side(places, range(9)))
    assert [place.closed for place in places] == [1, 1, 1]
    assert not any(place.done for place in places)


def test_closing_it_ends_the_running_tasks() -> None:
    places = [Counting(slow=frozenset({1})) for _ in range(2)]
    playing = side_by_side(places, range(9))
    assert next(playing) == 0
    playing.close()
    assert [place.closed for place in places] == [1, 1]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers by signal")
def test_ctrl_c_at_any_moment_ends_it() -> None:
    """A Ctrl-C that met a lock of the standard library's threads used to leave a match that never ended. It runs in a
    process of its own, because pytest's time limit is the same timer."""
    module = "from tests.cluster.machine.test_side_by_side import press_ctrl_c; press_ctrl_c(2000)"
    done = subprocess.run([sys.executable, "-c", module], capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 1900, "nearly all met it at work"


def press_ctrl_c(times: int) -> None:
    """Interrupt so many runs, each at a moment by chance; prints how many were still at work."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, press)
    faulthandler.dump_traceback_later(150, exit=True)
    pauses = random.Random(3)
    met = 0
    for _ in range(times):
        places = [Counting(), Counting()]
        try:
            with closing(side_by_side(places, range(100_000))) as playing:
                next(playing)
                signal.setitimer(signal.ITIMER_REAL, pauses.uniform(1e-5, 2e-3))
                for _ in playing:
                    pass
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            met += 1
        assert [place.closed for place in places] == [1, 1]
    print(met)


def test_a_place_without_a_task_is_closed_and_not_ended() -> None:
    """Thus a player whose last game has just ended can leave by itself."""
    last, other = Counting(), Counting(slow=frozenset({1}))
    playing = side_by_side([last, other], range(2))
    assert next(playing) == 0
    playing.close()
    assert (last.ended, other.ended) == (False, True)


def work(tell: Callable[[object], None], what: str, *numbers: int) -> object:
    match what:
        case "sum":
            return sum(numbers)
        case "count":
            for number in range(*numbers):
                tell(number)
            return "done"
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            raise ValueError(f"no such work: {what}")
    return None


def test_answers_words_and_errors() -> None:
    process = WorkProcess(work)
    process.order("sum", 1, 2, 3)
    assert process.hear() == 6
    process.order("count", 2)
    assert [process.hear() for _ in range(3)] == [0, 1, "done"]
    process.order("nothing")
    with pytest.raises(WorkFailed, match="ValueError: no such work: nothing"):
        process.hear()
    process.close()
    assert not multiprocessing.active_children()


def test_its_death_is_reported_to_the_listener() -> None:
    process = WorkProcess(work)
    process.order("die")
    with pytest.raises(ProcessDied, match=r"died \(-9\)"):
        process.hear()
    process.order("sum", 1)
    with pytest.raises(ProcessDied):
        process.hear()
    process.close()


_STOPPED = """
import os, signal, subprocess
from functools import partial
from cluster.machine.side_by_side import WorkProcess
def work(shared, tell):
    return len(shared)
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -TERM {os.getpid()}"])
    try:
        WorkProcess(partial(work, bytes(1 << 22))).hear()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_sigterm_while_a_process_starts_is_no_traceback_of_it(tmp_path: Path) -> None:
    """What it works with comes through a pipe that holds little: the start lasts until it reads."""
    (tmp_path / "stopped.py").write_text(_STOPPED)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    words = [sys.executable, str(tmp_path / "stopped.py")]
    ran = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("interrupted\n", "")


def test_a_place_that_was_ended_does_nothing_more() -> None:
    place = ProcessWorkplace[str, object](work, lambda task, error: RuntimeError(f"{task}: {error}"))
    place.end()
    with pytest.raises(RuntimeError, match="sum: its process was ended"):
        place.do("sum")
    place.close()
    place.close()
    assert not multiprocessing.active_children()
