"""The calling thread's name and priority in the system, and its time on a core."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

LOWEST: Final = 19
"""The niceness of what takes only what nobody else wants."""


def give_way() -> None:
    """Let the calling thread, and all that it begins, have the lowest priority from now on; there is no way back.

    Where that cannot be, it goes on as it is: the work matters more than its manners.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)


def show_name(name: str) -> None:
    """Call the calling thread by ``name`` (15 bytes are shown) in ``top -H``, perf and the like; on Linux only."""
    with contextlib.suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(
            name[:15], encoding="ascii", errors="replace"
        )


def core_time() -> tuple[float, float]:
    """Seconds that the calling thread has run, and that it could have run but waited for a core.

    Both 0 where the system does not tell: only Linux does.
    """
    try:
        ran, waited, _ = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9
