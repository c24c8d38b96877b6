"""Time for which a process was ready to run and had no processor, as Linux counts it by thread.

It tells an answer that is late by the program's own fault from one that the machine held up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_STEAL = 8
"""Place of the time that the hypervisor took, in the first line of ``/proc/stat``."""


def _delays(pid: int) -> dict[str, int]:
    """Nanoseconds that each thread has waited in a run queue, by thread."""
    delays = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            delays[task.name] = int((task / "schedstat").read_text().split()[1])
        except OSError:
            continue  # the thread has just ended
    return delays


def _stolen_ms() -> float:
    """Milliseconds that the hypervisor took from this machine's processors since it was started."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[_STEAL]) * 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waiting times of processes up to one moment.

    Args:
        delays: nanoseconds by thread, for each process.
        stolen_ms: that of the hypervisor, in steps of 10 ms.
    """

    delays: dict[int, dict[str, int]]
    stolen_ms: float

    @classmethod
    def now(cls, *pids: int) -> Waiting:
        """Read the present state of these processes."""
        return cls({pid: _delays(pid) for pid in pids}, _stolen_ms())

    def since(self) -> float:
        """The longest that an answer can have been held up since then, in ms.

        It is the sum over the processes of their most delayed threads, and what the hypervisor took: an upper bound,
        because a thread may wait while nobody waits for it.
        """
        total = _stolen_ms() - self.stolen_ms
        for pid, before in self.delays.items():
            total += max((delay - before.get(thread, 0) for thread, delay in _delays(pid).items()), default=0) / 1e6
        return total
