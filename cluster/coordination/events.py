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
    """A node can search from now on. One that is here already began anew: whatever it searched is lost."""

    node_id: str
    engine: str = ""
    """Its engine's name: depths and node counts of different ones do not compare."""
    can_split: bool = True
    """Whether it can search a part of the root's moves, and several lines; else it is a voter of its own."""
    nps: int = 0
    """Nodes a second in a short search; 0: unknown."""
    beside_master: bool = False
    """Whether it runs on the master's own machine, where the fallback would take CPU from it."""


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node died, left, or was not heard of for too long. ``reason`` is for the log."""

    node_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message from a node, decoded but of unknown truth."""

    message: Report | Done | Heartbeat


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing but time has passed."""


Event = NodeJoined | NodeLost | StartSearch | PonderSearch | RetimeSearch | StopSearch | Received | Tick


@dataclass(frozen=True, slots=True)
class SendJob:
    """Give ``node_id`` a job; it takes the place of what the node does."""

    node_id: str
    job: Job


@dataclass(frozen=True, slots=True)
class StopNode:
    """End job ``job_id`` on ``node_id``."""

    node_id: str
    job_id: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Something that a log should hold."""

    name: str
    fields: dict[str, object] = field(default_factory=dict)


Instruction = SendJob | StopNode | Decision | Progress | Pondered | LogEvent
"""Results are to be told as they are: exactly one `Decision` for each `StartSearch`; `Progress`, for viewers and the
clock; `Pondered`, by which the master may give the next search less time."""
