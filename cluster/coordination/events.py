"""The coordinator's events and instructions: plain values, so that a search can be logged and replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cluster.api import Decision, Pondered, PonderSearch, Progress, RetimeSearch, StartSearch, StopSearch
from cluster.network.messages import Done, Heartbeat, Job, Report

FALLBACK: Final = "fallback"
"""The node id of the zero-vote fallback on the master's own machine."""


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node can search from now on. If it is already known, it has restarted, and its search is lost."""

    node_id: str
    engine: str = ""
    """Its engine's name: depths and node counts of different engines are not comparable."""
    can_split: bool = True
    """Whether it can search a part of the root's moves, and several lines; otherwise it votes alone."""
    nps: int = 0
    """Nodes a second in a short search; 0: unknown."""
    beside_master: bool = False
    """Whether it runs on the master's own machine, so that the fallback competes with it for CPU."""


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node died, left, or was silent for too long. ``reason`` is for the log."""

    node_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message from a node, decoded but not verified."""

    message: Report | Done | Heartbeat


@dataclass(frozen=True, slots=True)
class Tick:
    """Only time has passed."""


Event = NodeJoined | NodeLost | StartSearch | PonderSearch | RetimeSearch | StopSearch | Received | Tick


@dataclass(frozen=True, slots=True)
class SendJob:
    """Give ``node_id`` a job; it replaces the node's current job."""

    node_id: str
    job: Job


@dataclass(frozen=True, slots=True)
class StopNode:
    """End job ``job_id`` on ``node_id``."""

    node_id: str
    job_id: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event for the log."""

    name: str
    fields: dict[str, object] = field(default_factory=dict)


Instruction = SendJob | StopNode | Decision | Progress | Pondered | LogEvent
"""Results are passed on unchanged: exactly one `Decision` for each `StartSearch`; `Progress`, for viewers and the
clock; `Pondered`, which lets the master give the next search less time."""
