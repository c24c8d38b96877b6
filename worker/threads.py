"""The calling thread's name and priority in the system, its time on a core, and the garbage collector's hold on all."""

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

    Where the system refuses, the priority stays: the work is more important.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)


def show_name(name: str) -> None:
    """Call the calling thread by ``name`` (15 bytes are shown) in ``top -H``, perf and similar tools; on Linux only."""
    with contextlib.suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(
            name[:15], encoding="ascii", errors="replace"
        )


def core_time() -> tuple[float, float]:
    """Seconds that the calling thread has run, and seconds that it waited for a core.

    Both are 0 where the system does not report them: only Linux does.
    """
    try:
        ran, waited, _ = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def spare_the_collector() -> None:
    """Take all that this process has made until now, and so will keep, out of the garbage collector's rounds.

    A full round looks at every object and holds up all threads. Measured: 110,000 objects of loaded code are 60 ms of
    processor time, for which a move in the middle of a game then had to wait.
    """
    gc.unfreeze()  # what was there when it was called before and is no longer of use
    gc.collect()
    gc.freeze()
