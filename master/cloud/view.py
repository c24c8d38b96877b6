"""The status of a fleet, combined from AWS and the machines. Pure; times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from master.cloud.cloud import Machine
from master.cloud.plan import Facts
from master.cloud.reports import SILENT_S, MachineReport
from master.ui.progress import span

GONE: Final = "gone"


@dataclass(frozen=True, slots=True)
class Row:
    """One machine. ``state``: AWS's state until it runs, then the machine's own; ``silent``: it does not report."""

    machine: str
    role: str
    type: str
    zone: str
    market: str
    state: str
    age_s: float
    nps: int
    note: str


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """``usd_per_hour``: of the running machines, at list prices; spot machines cost less."""

    name: str
    region: str
    asked: int
    head: str
    """AWS's state of the head; `GONE` if AWS does not, or no longer, have the machine."""
    rows: tuple[Row, ...]
    usd_per_hour: float
    unpriced: tuple[str, ...]
    """Types in use whose prices are unknown: they count as 0."""
    failures: tuple[str, ...] = ()
    """Machines whose first boot failed since the last `up`, with the last line of their output."""
    held: bool = False
    """The group starts no more machines, because three in a row could not boot."""

    @property
    def head_runs(self) -> bool:
        """Whether there is a head, or will be soon; without one there is no play."""
        return self.head in ("pending", "running")

    @property
    def ready(self) -> int:
        return sum(row.role == "node" and row.state == "ready" for row in self.rows)

    @property
    def joined(self) -> int:
        """Number of nodes that search once a master plays, including those that already do."""
        return sum(row.role == "node" and row.state in ("joined", "ready") for row in self.rows)

    @property
    def nps(self) -> int:
        return sum(row.nps for row in self.rows)


def status(
    facts: Facts,
    machines: Sequence[Machine],
    reports: Iterable[MachineReport],
    prices: Mapping[str, float],
    now: float,
) -> FleetStatus:
    """See the module's docstring. ``prices``: US dollars per hour, by type."""
    by_machine = {report.machine: report for report in reports}
    rows = [_row(machine, facts.head, by_machine, now) for machine in machines]
    running = [machine for machine in machines if machine.state in ("pending", "running")]
    return FleetStatus(
        name=facts.location.name,
        region=facts.location.region,
        asked=facts.nodes,
        head=next((machine.state for machine in machines if machine.id == facts.head), GONE),
        rows=tuple(sorted(rows, key=lambda row: (row.role != "head", -row.age_s, row.machine))),
        usd_per_hour=sum(prices.get(machine.type, 0.0) for machine in running),
        unpriced=tuple(sorted({machine.type for machine in running} - prices.keys())),
    )


def _row(machine: Machine, head: str, reports: Mapping[str, MachineReport], now: float) -> Row:
    report = reports.get(machine.id)
    role = "head" if machine.id == head else "node"
    state, nps, note = machine.state, 0, ""
    if role == "node" and state == "running":
        if report is None:
            state = "starting"
        elif now - report.when > SILENT_S:
            state, note = "silent", f"last heard of {span(now - report.when)} ago"
        else:
            state, nps = report.state, report.nps
            note = report.why or ("may be taken away soon" if report.at_risk else "")
    age_s, market = max(0.0, now - machine.launched), "spot" if machine.spot else "on demand"
    return Row(machine.id, role, machine.type, machine.zone, market, state, age_s, nps, note)
