"""Reports of the fleet's machines about themselves, for the operator: an object of its bucket for each. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from cluster.machine.presence import NodePresence, NodeState

PREFIX: Final = "fleet/machines/"
"""Prefix of the keys in the fleet's folder."""
FAILURES: Final = "fleet/failures/"
"""There a machine whose first boot failed leaves what it said last, under its instance id (deploy/cloud-init)."""
REPORT_S: Final = 600.0
"""A machine tells this often how it is, where nothing changes: each report is a version in the bucket."""
SILENT_S: Final = 2.5 * REPORT_S
"""A machine that was not heard of for so long is not counted, and is replaced."""

MachineState = Literal["waiting", "joined", "ready", "leaving", "released"]
"""``waiting``: Ray does not run on it yet. ``joined``: it has joined and is warm, but no node of it can search, as
where no master plays. ``ready``: one can. ``leaving``: it is sent away. ``released``: its nodes are dismissed."""


def key(machine: str) -> str:
    """The key of a machine's report in the fleet's folder."""
    return f"{PREFIX}{machine}.json"


class ReportError(ValueError):
    """Bytes are no report; the text says why."""


@dataclass(frozen=True, slots=True)
class MachineReport:
    """One machine. ``machine``: its instance id; ``when``: in seconds since 1970; ``nps``: of its nodes together."""

    machine: str
    when: float
    state: MachineState
    nodes: tuple[str, ...] = ()
    nps: int = 0
    at_risk: bool = False
    """AWS thinks that it may be taken away."""
    why: str = ""
    """The reason why it leaves."""

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def decode(data: bytes) -> MachineReport:
    """The report in ``data``.

    Raises:
        ReportError: there is none.
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
        why: empty while it does not leave.
    """
    serving = [node for node in nodes if node.state is NodeState.SERVING]
    state: MachineState = "ready" if serving else "joined" if joined else "waiting"
    if why:
        state = "released" if released else "leaving"
    names = tuple(node.node_id for node in nodes)
    return MachineReport(machine, when, state, names, sum(node.nps for node in serving), at_risk, why)
