"""The machine under a laboratory in real time: what it is, what runs on its cores, what a player's processes take."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster.lab.real.cores import words
from cluster.lab.real_figures import KINDS
from cluster.machine.processes import command_of, descendants, stat_of

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_LOOKED_S: Final = 1.0
_BUSY: Final = 0.05
"""Share of a core that others may take before it is told."""


def cpu_model() -> str:
    """The processor's name, as the kernel has it; empty where it does not say."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return ""


def load() -> float:
    """Load average of the last minute."""
    return os.getloadavg()[0]


def about(cores: Sequence[int]) -> dict[str, Any]:
    """This machine, as the folder describes it."""
    return {"cpu": cpu_model(), "cores": words(cores), "of": os.cpu_count(), "load": round(load(), 2)}


def busy_s(cores: Sequence[int]) -> float:
    """CPU seconds that these cores have worked so far, for whomever: this machine's programs, or another guest's."""
    wanted = {f"cpu{core}" for core in cores}
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *values = line.split()
        if name in wanted:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, values[:8])
            ticks += user + nice + system + irq + softirq + steal
    return ticks / _TICKS


def warnings(cores: Sequence[int]) -> list[str]:
    """Reasons why figures of these cores are not those of an idle machine with whole cores; looks for a second."""
    found: list[str] = []
    before, began = busy_s(cores), time.monotonic()
    time.sleep(_LOOKED_S)
    taken = (busy_s(cores) - before) / (time.monotonic() - began)
    if taken > _BUSY * len(cores):
        found.append(
            f"the machine is not idle: others take {taken:.1f} of the {len(cores)} cores (load {load():.1f}); what "
            "they take is missing to the nodes, to more of them more"
        )
    if twins := _twins(cores):
        found.append(
            f"cores {twins[0]} and {twins[1]} are two threads of one core, and not as fast as two: name one of each "
            "(--cores)"
        )
    return found


def _twins(cores: Sequence[int]) -> tuple[int, int] | None:
    seen: dict[str, int] = {}
    for core in cores:
        with suppress(OSError):
            place = Path(f"/sys/devices/system/cpu/cpu{core}/topology")
            siblings = (place / "thread_siblings_list").read_text().strip()
            if siblings in seen:
                return seen[siblings], core
            seen[siblings] = core
    return None


@dataclass(frozen=True, slots=True)
class Family:
    """The processes of a player by kind (`cluster.lab.real_figures.KINDS`), as they were when it was looked at."""

    kinds: dict[int, str]

    @classmethod
    def of(cls, pid: int, fleet: bool) -> Family:
        """Those that descend from ``pid``; ``fleet``: it is a master with nodes, and does not search itself."""
        kinds = {pid: "master" if fleet else "nodes"}
        nursery = 0
        for child in descendants(pid):
            command = command_of(child.pid)
            if child.parent == nursery:
                kinds[child.pid] = "nodes"  # made by fork: its command is the nursery's
            elif "cluster.node.process" in command:
                kinds[child.pid] = "fallback"
            else:
                kinds[child.pid] = "master"
                nursery = child.pid if "cluster.node.nursery" in command else nursery
        return cls(kinds)

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds so far by kind. A process that has ended counts no more."""
        used = dict.fromkeys(KINDS, 0.0)
        for pid, kind in self.kinds.items():
            if (process := stat_of(pid)) is not None:
                used[kind] += process.cpu_s
        return used
