"""The display of ``gougi fleet``: its table, terraform's progress, the wait for the nodes."""

from __future__ import annotations

from collections.abc import Callable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from master.cloud.terraform import Step
from master.cloud.view import FleetStatus
from master.ui.progress import span

_COLOURS = {"ready": "green", "joined": "cyan", "leaving": "yellow", "released": "yellow", "silent": "red"}


def status_table(now: FleetStatus) -> RenderableType:
    """All machines, and a line for the fleet."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("machine", "role", "type", "zone", "market", "state"):
        table.add_column(name, no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("nodes/s", justify="right", no_wrap=True)
    table.add_column("note")
    for row in now.rows:
        state = Text(row.state, style=_COLOURS.get(row.state, ""))
        speed = f"{row.nps:,}" if row.nps else ""
        table.add_row(row.machine, row.role, row.type, row.zone, row.market, state, span(row.age_s), speed, row.note)
    lines: list[str | Text] = [
        f"{now.name} in {now.region}: {'' if now.head_runs else 'no head, '}"
        f"{now.ready} of {now.asked} nodes ready, {now.nps:,} nodes/s; "
        f"{now.usd_per_hour:.2f} US dollars an hour at list prices"
    ]
    if not now.head_runs:
        brings_back = "starts it" if now.head in ("stopping", "stopped") else "makes another"
        lines.append(Text.assemble((f"the head is {now.head}: nobody plays", "red"), f"; gougi fleet up {brings_back}"))
    lines += [f"{failure}" for failure in now.failures]
    if now.held:
        held = "three machines in a row could not boot, and no more are started"
        lines.append(Text.assemble((held, "red"), "; gougi fleet up or scale goes on"))
    if now.unpriced:
        lines.append(f"counted as nothing, for the price is not known: {', '.join(now.unpriced)}")
    return Group(table, *lines)


def step_line(step: Step) -> str:
    """A line about terraform's work on a resource; empty: the work only continues."""
    took = f" ({step.seconds} s)" if step.what in ("done", "failed") and step.seconds else ""
    return "" if step.what == "goes on" else f"{step.action} {step.address}: {step.what}{took}"


class Waiting:
    """The wait for nodes: a line for each machine whose state changes."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._states: dict[str, str] = {}

    def news(self, now: FleetStatus, troubles: list[str]) -> None:
        for row in now.rows:
            if self._states.get(row.machine) != row.state:
                self._states[row.machine] = row.state
                speed = f", {row.nps:,} nodes/s" if row.nps else ""
                self._tell(
                    f"{row.machine} ({row.role}, {row.type}, {row.market}): {row.state}{speed} {row.note}".rstrip()
                )
        for trouble in troubles:
            self._tell(f"the group cannot start a machine: {trouble}")
