"""Processes that work for this one: answers, words in between, errors, and death."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable

import pytest

from cluster.machine.side_by_side import ProcessDied, ProcessWorkplace, WorkFailed, WorkProcess


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


def test_its_death_is_told_to_who_listens() -> None:
    process = WorkProcess(work)
    process.order("die")
    with pytest.raises(ProcessDied, match=r"died \(-9\)"):
        process.hear()
    process.order("sum", 1)
    with pytest.raises(ProcessDied):
        process.hear()
    process.close()


def test_a_place_that_was_ended_does_nothing_more() -> None:
    place = ProcessWorkplace[str, object](work, lambda task, error: RuntimeError(f"{task}: {error}"))
    place.end()
    with pytest.raises(RuntimeError, match="sum: its process was ended"):
        place.do("sum")
    place.close()
    place.close()
    assert not multiprocessing.active_children()
