"""Events and instructions of a front with a fleet behind it, beside those of any (`worker.usi.events`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cluster.api import Decision, Pondered, PonderSearch, Progress, RetimeSearch, StartSearch, StopSearch
from worker.usi import events


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The part of the fleet that the GUI's options decide. Another plan is another fleet."""

    nodes: int
    hash_mb: int
    threads: int
    """Search threads of each node; 0: the nodes share out the processors."""
    eval_file: str
    """Empty: the network that ships with Gougi."""
    fv_scale: int
    """0: what the network file names, else 16."""
    mode: str
    vote: str


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """As `cluster.api.Listener.on_event`."""

    name: str
    fields: dict[str, Any]


Event = events.Event | FleetEvent | Progress | Pondered | Decision
Instruction = events.Instruction | StartSearch | PonderSearch | RetimeSearch | StopSearch
