"""Time for which a process was ready to run and had no processor, and time for which it ran, as Linux counts both by
thread.

The first separates a delay caused by the program from one caused by the machine. The second shows whether the program
computed in that time or waited for something else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_STEAL = 8
"""Index of the time taken by the hypervisor, in the first line of ``/proc/stat``."""

_RAN, _DELAYED = 0, 1
"""Indices of the two times in a thread's ``schedstat``."""


def _times(pid: int) -> dict[int, tuple[int, int]]:
    """Nanoseconds for which each thread ran, and waited in a run queue; by thread, in the order of their start."""
    times = {}
    for thread in sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()):
        try:
            words = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
        except OSError:
            continue  # the thread has just ended
        times[thread] = int(words[_RAN]), int(words[_DELAYED])
    return times


def _stolen_ms() -> float:
    """Milliseconds that the hypervisor took from this machine's processors since it was started."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[_STEAL]) * 1000 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The times of processes up to one moment.

    Args:
        times: nanoseconds by thread (`_times`), for each process.
        stolen_ms: the time taken by the hypervisor, in steps of 10 ms.
    """

    times: dict[int, dict[int, tuple[int, int]]]
    stolen_ms: float

    @classmethod
    def now(cls, *pids: int) -> Waiting:
        """Read the present state of these processes."""
        return cls({pid: _times(pid) for pid in pids}, _stolen_ms())

    def _since(self, pid: int, place: int) -> list[float]:
        """Growth of one of the two times of each thread, in ms."""
        before = self.times[pid]
        return [(now[place] - before.get(thread, (0, 0))[place]) / 1e6 for thread, now in _times(pid).items()]

    def waited_ms(self) -> float:
        """The longest possible delay of an answer since then, in ms.

        It is the sum over the processes of their most delayed threads, and the time taken by the hypervisor: an upper
        bound, because a thread may wait while nothing depends on it.
        """
        return _stolen_ms() - self.stolen_ms + sum(max(self._since(pid, _DELAYED), default=0) for pid in self.times)

    def ran_ms(self, pid: int) -> list[float]:
        """Time for which each thread of ``pid`` has run since then, in ms, in the order of their start."""
        return self._since(pid, _RAN)
