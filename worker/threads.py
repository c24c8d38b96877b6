"""The calling thread's name and priority in the system, its time on a core, and limits to the garbage collector's
pauses."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from pathlib import Path
from typing import Final

LOWEST: Final = 19
"""The niceness of a thread that gets only time that no other thread wants."""


def give_way() -> None:
    """Give the calling thread, and all threads that it starts, the lowest priority for good.

    If the system refuses, the priority stays: the work is more important.
    """
    with contextlib.suppress(OSError, AttributeError):  # Windows has no niceness
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)


def show_name(name: str) -> None:
    """Call the calling thread by ``name`` (15 bytes are shown) in ``top -H``, perf and similar tools; on Linux only."""
    with contextlib.suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(
            name[:15], encoding="ascii", errors="replace"
        )


def core_time() -> tuple[float, float]:
    """Seconds that the calling thread has run, and seconds that it waited for a core.

    Both are 0 if the system does not report them: only Linux does.
    """
    try:
        ran, waited, _ = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def spare_the_collector() -> None:
    """Exclude all current objects, which the process will keep, from garbage collection.

    A full collection visits every object and stops all threads. Measured: 110,000 objects of loaded code take 60 ms of
    processor time, which delayed a move in the middle of a game. So at a start nothing is collected: only some 800
    objects are unreachable then.
    """
    if gc.get_freeze_count():
        gc.unfreeze()  # objects of an earlier call that are no longer used, such as a replaced engine
        gc.collect()
    gc.freeze()
    gc.enable()  # a start may have switched it off
