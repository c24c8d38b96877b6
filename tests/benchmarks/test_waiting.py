"""Times that count as waiting for a processor."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.usi_dialogue import Late
from benchmarks.waiting import Waiting

COMPUTE = "while True: pass"
SLEEP = "import time; time.sleep(60)"


@contextmanager
def on_one_processor(*programs: str) -> Iterator[list[int]]:
    """Run the programs on one and the same processor; gives their process numbers."""
    processor = min(os.sched_getaffinity(0))
    processes = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    try:
        for process in processes:
            os.sched_setaffinity(process.pid, {processor})
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_who_shares_a_processor_waits_for_it_and_who_sleeps_does_not() -> None:
    with on_one_processor(COMPUTE, COMPUTE, SLEEP) as (one, _other, asleep):
        time.sleep(0.5)  # until they have started
        began, busy, idle = time.monotonic(), Waiting.now(one), Waiting.now(asleep)
        time.sleep(1)
        waited, slept = busy.waited_ms(), idle.waited_ms()
        ran, rested = sum(busy.ran_ms(one)), sum(idle.ran_ms(asleep))
        seconds = time.monotonic() - began
    stolen = slept  # what the hypervisor took counts for both
    assert waited - stolen > seconds * 1000 / 5  # half of the time, where nobody else is
    assert waited < seconds * 1000 + stolen + 100
    assert seconds * 1000 / 5 < ran < seconds * 1000 + 100
    assert rested < 100


def test_late_answers() -> None:
    assert Late("position startpos", 80, 30, []).own_ms == 50
    assert Late("position startpos", 80, 90, []).own_ms == 0
