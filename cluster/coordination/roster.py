"""The coordinator's knowledge of its nodes beyond one search: which can search, with which engine, and how fast.
Pure."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from cluster.coordination.events import NodeJoined

_SAMPLES = 9
"""The number of searches over which the median speed is taken, so that one on a busy machine counts little."""
_LEAST_MS = 20
"""Shorter jobs give no meaningful speed."""


USUAL_NPS = 700_000.0
"""Nodes a second of one core of today's servers, for a node about which nothing is known yet."""
_STEP = math.log(1.25)


def speed_class(speed: float) -> int:
    """The class of a speed. Speeds within a quarter of each other are alike; smaller differences may be measurement
    noise."""
    return round(math.log(max(speed, 1e-6)) / _STEP)


@dataclass(slots=True)
class RosterNode:
    """A node and its speed."""

    facts: NodeJoined
    """Its data when it joined."""
    samples: deque[float] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    """Nodes a second in its last searches."""

    @property
    def nps(self) -> float:
        """Nodes a second: the median of its last searches, before the first search, the value that it reported; 0:
        unknown."""
        return statistics.median(self.samples) if self.samples else float(self.facts.nps)


class Roster:
    """The nodes that can search, in the order in which they joined; without the fallback."""

    def __init__(self) -> None:
        self._live: dict[str, RosterNode] = {}
        self._speeds: dict[str, float] | None = None

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._live

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def join(self, facts: NodeJoined) -> None:
        self._live[facts.node_id] = RosterNode(facts)
        self._speeds = None

    def leave(self, node_id: str) -> None:
        del self._live[node_id]
        self._speeds = None

    def facts(self, node_id: str) -> NodeJoined:
        """The node's data when it joined; for an unknown node an empty value."""
        node = self._live.get(node_id)
        return node.facts if node else NodeJoined(node_id)

    def measured(self, node_id: str, nodes: int, time_ms: int) -> None:
        """Note the speed of a finished job."""
        node = self._live.get(node_id)
        if node is not None and nodes and time_ms >= _LEAST_MS:
            node.samples.append(nodes * 1000 / time_ms)
            self._speeds = None

    def nps_of(self, node_id: str) -> float:
        """Nodes a second of one node; 0: unknown."""
        node = self._live.get(node_id)
        return node.nps if node is not None else 0.0

    @property
    def nps(self) -> float:
        """Nodes a second of the median node, `USUAL_NPS` if nothing is known."""
        known = [node.nps for node in self._live.values() if node.nps]
        return statistics.median(known) if known else USUAL_NPS

    @property
    def speeds(self) -> dict[str, float]:
        """Speeds by node id, relative to the median of the nodes with the same engine, which is 1; because each engine
        counts nodes in its own way. Unknown speeds are 1."""
        if self._speeds is None:
            nps = {node_id: node.nps for node_id, node in self._live.items()}
            by_engine: dict[str, list[float]] = {}
            for node_id, node in self._live.items():
                if nps[node_id]:
                    by_engine.setdefault(node.facts.engine, []).append(nps[node_id])
            usual = {engine: statistics.median(values) for engine, values in by_engine.items()}
            self._speeds = {
                node_id: nps[node_id] / usual[node.facts.engine] if nps[node_id] else 1.0
                for node_id, node in self._live.items()
            }
        return self._speeds

    def weight(self, node_id: str) -> float:
        """The weight of a node's vote: the square root of its speed, which is rounded to a power of two, so that nodes
        of nearly one speed weigh the same. 1 for a node that has left. (docs/notebook/strategies.md, "Unequal nodes")
        """
        return math.exp2(round(math.log2(max(self.speeds.get(node_id, 1.0), 1e-6))) / 2)
