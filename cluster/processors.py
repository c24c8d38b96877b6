"""Counts the processors that this process may use: those in its affinity mask, limited by its container's quota."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_MINE: Final = Path("/proc/self/cgroup")


def processors(cgroups: Path = _CGROUPS, mine: Path = _MINE) -> int:
    """Count the processors that this process may use, at least one.

    A container may see 64 processors but have the time of only two (``docker run --cpus 2``, a Kubernetes limit).
    Fractions are rounded down: 2.5 processors suit two searches.

    Args:
        cgroups: the mount point of the kernel's control groups, version 1 or 2.
        mine: the file that names this process's groups (``man 7 cgroups``).
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([bound, *_quotas(cgroups, mine)])))


def _quotas(cgroups: Path, mine: Path) -> Iterator[float]:
    """The limits of this process's control groups and of their ancestors, in processors."""
    try:
        lines = mine.read_text().splitlines()
    except OSError:
        return  # a kernel without control groups
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = (cgroups, cgroups / "unified")
        elif "cpu" in controllers.split(","):
            mounts = (cgroups / controllers, cgroups / "cpu")
        else:
            continue
        # In a container the path may be the host's. The container sees only its last folder, as the mount point.
        group = Path(path.lstrip("/"))
        for mount in mounts:
            for folder in (group, *group.parents):
                yield from _quota(mount / folder)


def _quota(group: Path) -> Iterator[float]:
    """The limit of one group; nothing if it has none."""
    for files in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            quota, period = " ".join((group / name).read_text() for name in files).split()
            if quota not in ("max", "-1"):
                yield int(quota) / int(period)
        except (OSError, ValueError, ZeroDivisionError):
            continue  # another version of control groups, or no limit
