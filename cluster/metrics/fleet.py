"""The metrics of a fleet, from the events that its searcher reports to its listener.

Values that change with every report (speeds, depths, silence) are kept as last reported, and turned into metrics when
Prometheus asks. So metrics cost a search nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily

from cluster.api import Decision, Listener, NodeView, Progress, SearchListener
from cluster.coordination.events import FALLBACK
from cluster.metrics import catalogue
from cluster.metrics.catalogue import FLEET, Kind, Meters, Metric
from cluster.network.messages import Job, Order, Report, Shared

_VIEWS: Final = (
    catalogue.NODES, catalogue.RAY_UP, catalogue.SEARCHING, catalogue.NPS, catalogue.DEPTH, catalogue.SCORE,
    catalogue.AGREEMENT, catalogue.NODE_NPS, catalogue.NODE_DEPTH, catalogue.NODE_HASHFULL, catalogue.NODE_SILENCE,
)  # fmt: skip
"""Computed when Prometheus asks for them."""
_OPEN_JOBS: Final = 4096
"""The most jobs whose answer is awaited; the answers to further ones are not measured."""
_COUNTED: Final[Mapping[str, Metric]] = {
    "node_joined": catalogue.NODE_JOINS,
    "job_resent": catalogue.RESENT,
    "job_failed": catalogue.JOBS_FAILED,
    "report_refused": catalogue.REFUSED,
    "message_refused": catalogue.REFUSED,
    "ponder_hit": catalogue.PONDER_HITS,
    "ponder_miss": catalogue.PONDER_MISSES,
}


class FleetMetrics:
    """Collects the events of a fleet and answers Prometheus. One per process, which has one fleet after the other.

    Args:
        registry: the registry for the metrics.
        now: any monotonic clock, in seconds.
    """

    def __init__(self, registry: CollectorRegistry, now: Callable[[], float] = time.monotonic) -> None:
        self._meters = Meters([metric for metric in FLEET if metric not in _VIEWS], registry)
        self._now = now
        self._states: dict[str, str] = {}
        self._leaving: set[str] = set()
        """Nodes that have announced that they leave; these are not counted as losses."""
        self._view: Progress | Decision | None = None
        self._searching = False
        self._sent: dict[int, float] = {}
        self._open: deque[int] = deque()
        self._silences: Callable[[], Mapping[str, float]] = dict
        self._ray_up: bool | None = None
        """None: the fleet is one machine, which has no Ray to lose."""
        registry.register(self)

    def watching(self, listener: Listener, silences: Callable[[], Mapping[str, float]] = dict) -> Listener:
        """Start a new fleet. Returns a listener that first passes everything on to ``listener``.

        Args:
            silences: gives the seconds since the last message of each live node; called from any thread.
        """
        self._states, self._view, self._searching = {}, None, False
        self._leaving.clear()
        self._silences = silences
        searches = listener.searches

        def on_event(name: str, fields: dict[str, object]) -> None:
            listener.on_event(name, fields)
            self._event(name, fields)

        def on_progress(progress: Progress) -> None:
            searches.on_progress(progress)
            self._view, self._searching = progress, True

        def on_decision(decision: Decision) -> None:
            searches.on_decision(decision)
            self._decided(decision)

        return Listener(on_event, SearchListener(on_progress, on_decision, searches.on_pondered))

    def closed(self) -> None:
        """Note that the fleet has closed."""
        self._states, self._silences, self._searching = {}, dict, False
        self._ray_up = None if self._ray_up is None else False

    def sent(self, node_id: str, order: Order) -> None:
        """Note an order from the master to a node."""
        if isinstance(order, Job) and node_id != FALLBACK:
            self._sent[order.job_id] = self._now()
            self._open.append(order.job_id)
            if len(self._open) > _OPEN_JOBS:
                self._sent.pop(self._open.popleft(), None)

    def heard(self, message: object) -> None:
        """Note a message from a node."""
        if isinstance(message, Report):
            began = self._sent.pop(message.job_id, None)
            if began is not None:
                self._meters.observe(catalogue.NODE_ANSWER, self._now() - began)
        elif isinstance(message, Shared):
            self._meters.add(catalogue.SHARED_BYTES, message.bytes_out)
            counts = (message.entries_out, message.entries_in, message.used, message.dropped)
            for what, count in zip(catalogue.ENTRIES, counts, strict=True):
                self._meters.add(catalogue.SHARED_ENTRIES, count, what)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The metrics for the registry; called from any thread."""
        states = list(self._states.values())
        nodes = _family(catalogue.NODES)
        for state in catalogue.NODE_STATES:
            nodes.add_metric([state], states.count(state))
        yield nodes
        if self._ray_up is not None:
            yield _family(catalogue.RAY_UP, float(self._ray_up))
        yield _family(catalogue.SEARCHING, float(self._searching))
        view = self._view
        fleet = () if view is None else tuple(node for node in view.fleet if node.node_id != FALLBACK)
        yield _family(catalogue.NPS, sum(node.nps for node in fleet if node.alive))
        yield _family(catalogue.DEPTH, 0 if view is None else view.depth)
        yield _family(catalogue.SCORE, None if view is None else view.score)
        yield _family(catalogue.AGREEMENT, 1.0 if view is None else view.agreement)
        yield _of_nodes(catalogue.NODE_NPS, fleet, lambda node: node.nps)
        yield _of_nodes(catalogue.NODE_DEPTH, fleet, lambda node: node.depth)
        yield _of_nodes(catalogue.NODE_HASHFULL, fleet, lambda node: node.hashfull / 1000)
        silence = _family(catalogue.NODE_SILENCE)
        for node_id, seconds in self._silences().items():
            if node_id != FALLBACK:
                silence.add_metric([node_id], seconds)
        yield silence

    def _event(self, name: str, fields: dict[str, object]) -> None:
        node = str(fields.get("node", ""))
        if node == FALLBACK:
            return
        if name in _COUNTED:
            self._meters.add(_COUNTED[name])
        match name:
            case "ray_started":
                self._ray_up = True
            case "ray_starting" | "ray_lost":
                self._ray_up = False
            case "node_starting":
                self._states.setdefault(node, "starting")
            case "node_joined":
                self._states[node] = "ready"
                self._meters.begin(catalogue.NODE_LOSSES, node)
                self._meters.begin(catalogue.NODE_STARVED, node)
            case "node_leaves":
                self._leaving.add(node)
            case "node_lost" if node in self._leaving:
                self._leaving.discard(node)
                self._states.pop(node, None)  # its absence is no fault
            case "node_lost":
                self._states[node] = "lost"
                self._meters.add(catalogue.NODE_LOSSES, 1, node)
            case "node_starves":
                self._meters.add(catalogue.NODE_STARVED, 1, node)
            case "dealt":
                if (why := why_dealt(str(fields.get("why", "")))) is not None:
                    self._meters.add(catalogue.REDEALT, 1, why)

    def _decided(self, decision: Decision) -> None:
        self._searching = False
        if decision.fleet:
            self._view = decision
        self._meters.add(catalogue.DECISIONS, 1, decision.source)
        if decision.source != "forced":  # nothing was searched
            self._meters.observe(catalogue.SEARCH_TIME, decision.elapsed_ms / 1000)
        self._meters.add(catalogue.SEARCHED, decision.nodes)
        self._meters.add(catalogue.WASTED, decision.wasted)


def why_dealt(words: str) -> str | None:
    """One of `catalogue.REDEALS` for the logged reason for a deal; None: it was the first deal."""
    if words == "presearch":
        return None
    endings = {
        " lost": "node lost",
        " joined": "node joined",
        " failed": "node failed",
        "ponder hit": "ponder hit",
        " is preferred": "preferred",
        " in contention": "contention",
        " is over": "leaf over",
        " is decided": "leaf over",
        " is due": "leaf over",
    }
    if words.startswith("the window of "):
        return "leaf over"
    return next((why for ending, why in endings.items() if words.endswith(ending)), "other")


def _family(metric: Metric, value: float | None = None) -> GaugeMetricFamily:
    assert metric.kind is Kind.GAUGE
    family = GaugeMetricFamily(metric.name, metric.meaning, labels=list(metric.labels))
    if value is not None:
        family.add_metric([], value)
    return family


def _of_nodes(metric: Metric, fleet: tuple[NodeView, ...], figure: Callable[[NodeView], float]) -> GaugeMetricFamily:
    """A gauge with one series for each node. A lost node has none: its last value would stay."""
    family = _family(metric)
    for node in fleet:
        if node.alive:
            family.add_metric([node.node_id], figure(node))
    return family
