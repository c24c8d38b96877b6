"""Reports of the fleet's machines about themselves, for the operator: one object in the bucket per machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from cluster.machine.presence import NodePresence, NodeState

PREFIX: Final = "fleet/machines/"
"""Prefix of the keys in the fleet's folder."""
FAILURES: Final = "fleet/failures/"
"""Prefix of the last output of machines whose first boot failed, by instance id (deploy/cloud-init)."""
REPORT_S: Final = 600.0
"""Seconds between two reports of a machine if nothing changes: each report is a version in the bucket."""
SILENT_S: Final = 2.5 * REPORT_S
"""A machine without a report for this number of seconds is not counted, and is replaced."""

MachineState = Literal["waiting", "joined", "ready", "leaving", "released"]
"""``waiting``: Ray does not run on it yet. ``joined``: it has joined and is warm, but none of its nodes can search, as
when no master plays. ``ready``: one can. ``leaving``: it must go. ``released``: its nodes are dismissed."""


def key(machine: str) -> str:
    """The key of a machine's report in the fleet's folder."""
    return f"{PREFIX}{machine}.json"


class ReportError(ValueError):
    """Bytes are not a report; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class MachineReport:
    """One machine. ``machine``: its instance id; ``when``: seconds since 1970; ``nps``: total of its nodes."""

    machine: str
    when: float
    state: MachineState
    nodes: tuple[str, ...] = ()
    nps: int = 0
    at_risk: bool = False
    """AWS warned that it may be reclaimed."""
    why: str = ""
    """The reason why it leaves."""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def decode(data: bytes) -> MachineReport:
    """The report in ``data``.

    Raises:
        ReportError: it is not a report.
    """
    try:
        return msgspec.json.decode(data, type=MachineReport)
    except msgspec.MsgspecError as error:
        raise ReportError(f"no report of a machine: {error}"[:300]) from error


def report(
    machine: str, nodes: tuple[NodePresence, ...], when: float, *, joined: bool, at_risk: bool, why: str, released: bool
) -> MachineReport:
    """The report of a machine with these node processes.

    Args:
        joined: Ray runs on it.
        why: the reason for leaving; empty: it does not leave.
    """
    serving = [node for node in nodes if node.state is NodeState.SERVING]
    state: MachineState = "ready" if serving else "joined" if joined else "waiting"
    if why:
        state = "released" if released else "leaving"
    names = tuple(node.node_id for node in nodes)
    return MachineReport(machine, when, state, names, sum(node.nps for node in serving), at_risk, why)
