"""Time for which a process was ready to run and had no processor, and time for which it ran, as Linux counts both by
thread.

The first tells an answer that is late by the program's own fault from one that the machine held up. The second tells
whether the program computed in that time or waited for something else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_STEAL = 8
"""Place of the time that the hypervisor took, in the first line of ``/proc/stat``."""

_RAN, _DELAYED = 0, 1
"""Places of the two times in a thread's ``schedstat``."""


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
        stolen_ms: what the hypervisor took, in steps of 10 ms.
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
        """The longest that an answer can have been held up since then, in ms.

        It is the sum over the processes of their most delayed threads, and what the hypervisor took: an upper bound,
        because a thread may wait while nobody waits for it.
        """
        return _stolen_ms() - self.stolen_ms + sum(max(self._since(pid, _DELAYED), default=0) for pid in self.times)

    def ran_ms(self, pid: int) -> list[float]:
        """Time for which each thread of ``pid`` has run since then, in ms, in the order of their start."""
        return self._since(pid, _RAN)
