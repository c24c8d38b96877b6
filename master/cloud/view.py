"""The status of a fleet, put together from AWS, the machines and the ledger. Pure; times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from master.cloud.cloud import CloudMachine
from master.cloud.costs import Ledger, Prices, observed
from master.cloud.reports import MachineReport

GONE: Final = "gone"
SILENT_S: Final = 180.0
"""A machine that was not heard of for so long is not counted as ready; it tells every minute."""


@dataclass(frozen=True, slots=True)
class Row:
    """One machine. ``state``: AWS's word until it runs, then the machine's own; ``silent``: it tells nothing."""

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
    """``usd_per_hour``: of the machines that run now, at today's prices; ``usd``: what all have cost so far."""

    name: str
    region: str
    asked: int
    head: str
    """AWS's word for the head's state; `GONE` where AWS has no such machine (any more)."""
    rows: tuple[Row, ...]
    usd_per_hour: float
    usd: float
    costs: tuple[tuple[str, str, float | None, int, float, float], ...]
    """Each: type, market, US dollars an hour of one, how many run, machine hours and US dollars so far."""
    unpriced: tuple[str, ...]
    """Types that are there, and whose prices are not known: they count as nothing."""
    source: str
    """Source of the prices."""
    ended: str
    counted: bool
    """Whether the head's ledger was there; without it only machines that still run are in the cost so far."""

    @property
    def head_runs(self) -> bool:
        """Whether there is a head, or will be at once; without one nobody plays."""
        return self.head in ("pending", "running")

    @property
    def ready(self) -> int:
        return sum(row.role == "node" and row.state == "ready" for row in self.rows)

    @property
    def joined(self) -> int:
        """Nodes that search once a master plays; those that do already among them."""
        return sum(row.role == "node" and row.state in ("joined", "ready") for row in self.rows)

    @property
    def nps(self) -> int:
        return sum(row.nps for row in self.rows)


def status(
    name: str,
    region: str,
    asked: int,
    head: str,
    machines: Sequence[CloudMachine],
    reports: Iterable[MachineReport],
    ledger: Ledger | None,
    prices: Prices,
    now: float,
) -> FleetStatus:
    """See the module's text. ``head``: the head's instance id; ``ledger``: None where there is none."""
    by_machine = {report.machine: report for report in reports}
    rows = [_row(machine, head, by_machine, now) for machine in machines]
    costing = [machine.facts for machine in machines if machine.state in ("pending", "running")]
    head_launched = next((machine.launched for machine in costing if machine.id == head), 0.0)
    so_far = observed(ledger or Ledger(), costing, prices, now, head_launched)
    costs = []
    for (kind, spot), (hours, usd) in so_far.by_type().items():
        alike = [machine for machine in costing if (machine.type, machine.spot) == (kind, spot)]
        known = [price for machine in alike if (price := prices.of(machine)) is not None]
        price = sum(known) / len(known) if known else prices.on_demand.get(kind)
        costs.append((kind, _market(spot), price, len(alike), hours, usd))
    return FleetStatus(
        name=name,
        region=region,
        asked=asked,
        head=next((machine.state for machine in machines if machine.facts.id == head), GONE),
        rows=tuple(sorted(rows, key=lambda row: (row.role != "head", -row.age_s, row.machine))),
        usd_per_hour=sum(prices.of(machine) or 0.0 for machine in costing),
        usd=so_far.usd,
        costs=tuple(costs),
        unpriced=tuple(sorted({machine.type for machine in costing if prices.of(machine) is None})),
        source=prices.source,
        ended=ledger.ended if ledger is not None and ledger.run_began >= head_launched else "",
        counted=ledger is not None,
    )


def _row(machine: CloudMachine, head: str, reports: Mapping[str, MachineReport], now: float) -> Row:
    facts = machine.facts
    report = reports.get(facts.id)
    role = "head" if facts.id == head else "node"
    state, nps, note = machine.state, 0, ""
    if role == "node" and state == "running":
        if report is None:
            state = "starting"
        elif now - report.when > SILENT_S:
            state, note = "silent", f"last heard of {age(now - report.when)} ago"
        else:
            state, nps = report.state, report.nps
            note = report.why or ("may be taken away soon" if report.at_risk else "")
    age_s = max(0.0, now - facts.launched)
    return Row(facts.id, role, facts.type, facts.zone, _market(facts.spot), state, age_s, nps, note)


def _market(spot: bool) -> str:
    return "spot" if spot else "on demand"


def age(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h 05``, ``2 d 4 h``."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02}"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
