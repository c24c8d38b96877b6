from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from worker.threads import LOWEST, core_time, give_way, show_name, spare_the_collector


def test_only_the_thread_that_asks_gives_way_and_has_another_name() -> None:
    found: list[tuple[int, str]] = []

    def modest() -> None:
        give_way()
        show_name("a name that is too long")
        task = threading.get_native_id()
        comm = Path(f"/proc/self/task/{task}/comm").read_text().strip()
        found.append((os.getpriority(os.PRIO_PROCESS, task), comm))

    before = os.getpriority(os.PRIO_PROCESS, 0), Path("/proc/self/comm").read_text()
    thread = threading.Thread(target=modest)
    thread.start()
    thread.join()
    assert found == [(LOWEST, "a name that is ")] or found == [(LOWEST, "a name that is")]
    assert (os.getpriority(os.PRIO_PROCESS, 0), Path("/proc/self/comm").read_text()) == before


def test_a_thread_knows_its_running_and_waiting_time() -> None:
    ran, waited = core_time()
    began = time.thread_time()
    while time.thread_time() - began < 0.05:
        pass
    now_ran, now_waited = core_time()
    assert now_ran - ran >= 0.04
    assert now_waited >= waited
    time.sleep(0.05)
    assert core_time()[0] - now_ran < 0.04, "sleep is neither"


def test_a_thread_that_shares_its_core_waits() -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    spin = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None and other.stdout.readline()
            os.sched_setaffinity(0, {core})
            waited, end = core_time()[1], time.monotonic() + 0.5
            while time.monotonic() < end:
                pass
            assert core_time()[1] - waited > 0.1
        finally:
            os.sched_setaffinity(0, before)
            other.kill()


def test_permanent_objects_are_out_of_the_collectors_rounds() -> None:
    """In this process thousands of objects are loaded code; a full round must not visit them in mid-game."""
    gc.unfreeze()  # by another test
    before = len(gc.get_objects())
    spare_the_collector()
    try:
        assert before > 10_000
        assert len(gc.get_objects()) < before / 10
    finally:
        gc.unfreeze()
