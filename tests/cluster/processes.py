"""Processes: checks that several tests share."""

from __future__ import annotations

from cluster.machine.processes import descendants, stat_of


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    stat = stat_of(pid)
    return stat is not None and stat.lives


def family(pid: int) -> set[int]:
    """The process and all its descendants."""
    return {pid, *(process.pid for process in descendants(pid))}
