"""Times that count as waiting for a processor."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.usi_dialogue import Late
from benchmarks.waiting import Waiting

COMPUTE = "while True: pass"
SLEEP = "import time; time.sleep(60)"


def processor_ms(pid: int) -> float:
    """Processor time that a process has used, in ms, in steps of 10: another of Linux's counts."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 1000 / os.sysconf("SC_CLK_TCK")


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
    # Three, so that none runs for as long as it waits.
    with on_one_processor(COMPUTE, COMPUTE, COMPUTE, SLEEP) as (one, _two, _three, asleep):
        time.sleep(0.5)  # until they have started
        began, busy, idle = time.monotonic(), Waiting.now(one), Waiting.now(asleep)
        used = processor_ms(one)
        time.sleep(1)
        waited, slept = busy.waited_ms(), idle.waited_ms()
        ran, rested = sum(busy.ran_ms(one)), sum(idle.ran_ms(asleep))
        used = processor_ms(one) - used
        seconds = time.monotonic() - began
    stolen = slept  # what the hypervisor took counts for both
    assert waited - stolen > seconds * 1000 / 5  # two thirds of the time, where nobody else is
    assert waited < seconds * 1000 + stolen + 100
    assert abs(ran - used) < 100
    assert ran + waited > seconds * 800  # it does nothing else
    assert rested < 100


def test_late_answers() -> None:
    assert Late("position startpos", 80, 30, []).own_ms == 50
    assert Late("position startpos", 80, 90, []).own_ms == 0
