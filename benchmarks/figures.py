"""Shared parts of the cluster's benchmarks: samples, their percentiles, a table, and the load of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Figures:
    """Samples of one thing."""

    samples: list[float] = field(default_factory=list)

    def add(self, sample: float) -> None:
        self.samples.append(sample)

    def percentile(self, percent: float) -> float:
        """The sample below which ``percent`` % of all are. Raises IndexError if there are none."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    @property
    def mean(self) -> float:
        return sum(self.samples) / len(self.samples)

    def facts(self) -> dict[str, float]:
        """The figures as plain values; all 0 without samples."""
        if not self.samples:
            return {"n": 0} | dict.fromkeys(("mean", "p50", "p99", "worst"), 0.0)
        return {
            "n": len(self.samples),
            "mean": round(self.mean, 3),
            "p50": round(self.percentile(50), 3),
            "p99": round(self.percentile(99), 3),
            "worst": round(max(self.samples), 3),
        }


@contextmanager
def busy(load: int) -> Iterator[None]:
    """Run ``load`` busy processes during the measurement."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def machine() -> dict[str, Any]:
    """Cores, and the load over the last minute and the last five."""
    one, five, _ = os.getloadavg()
    return {"cores": len(os.sched_getaffinity(0)), "load": [round(one, 1), round(five, 1)]}


def show(unit: str, groups: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print a table: a row for each thing of each group."""
    from rich.console import Console
    from rich.table import Table

    state = machine()
    title = f"{unit}; {state['cores']} cores, load {state['load'][0]} (5 min: {state['load'][1]})"
    table = Table("", "", "n", "mean", "p50", "p99", "worst", title=title)
    for column in table.columns[2:]:
        column.justify = "right"
    for group, rows in groups.items():
        for index, (name, figures) in enumerate(rows.items()):
            facts = figures.facts()
            cells = (f"{facts[key]:.2f}" for key in ("mean", "p50", "p99", "worst"))
            table.add_row("" if index else group, name, f"{facts['n']:.0f}", *cells, end_section=index == len(rows) - 1)
    Console().print(table)
