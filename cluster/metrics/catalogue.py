"""Every metric of a fleet: its name, kind, labels and meaning. docs/how-to/metrics.md lists them, and a test compares
the two.

Names follow Prometheus: the prefix ``gougi_``, base units (seconds, bytes, ratios from 0 to 1), ``_total`` for
counters. The master serves them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series beside each counter, which nothing here asks for


class Kind(StrEnum):
    """The kinds of metrics."""

    COUNTER = "counter"
    """It only rises, from 0 at the start of the process."""
    GAUGE = "gauge"
    """It goes up and down."""
    HISTOGRAM = "histogram"
    """Counts of observations by size, with their number (``_count``) and sum (``_sum``)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """Values of the only label, if they are known: these series exist from the start, with value 0."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram."""


SHORT_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Buckets for latencies."""
MOVE_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Buckets for the time of a move."""

SOURCES: Final = ("split", "vote", "forced", "fallback", "none", "refused")
"""`cluster.api.Decision.source`."""
REDEALS: Final = (
    "node lost",
    "node joined",
    "node failed",
    "ponder hit",
    "preferred",
    "contention",
    "leaf over",
    "other",
)
"""Reasons to deal a tree again, as returned by `cluster.metrics.fleet.why_dealt`."""
NODE_STATES: Final = ("starting", "ready", "lost")
ENTRIES: Final = ("sent", "received", "used", "dropped")

NODES: Final = Metric("gougi_nodes", Kind.GAUGE, "Nodes of the fleet, by state.", ("state",))
RAY_UP: Final = Metric("gougi_ray_up", Kind.GAUGE, "1 while the fleet's Ray is there, else 0. Only with an address.")
SEARCHING: Final = Metric("gougi_searching", Kind.GAUGE, "1 while the fleet searches for a move, else 0.")
NPS: Final = Metric("gougi_nps", Kind.GAUGE, "Nodes a second of all live nodes in the running search, or the last one.")
DEPTH: Final = Metric("gougi_search_depth", Kind.GAUGE, "Depth of the line that would be played, or was last.")
SCORE: Final = Metric(
    "gougi_search_score_centipawns",
    Kind.GAUGE,
    "Score of that line for the side to move; a mate is beyond 30,000. Absent while none is known.",
)
AGREEMENT: Final = Metric(
    "gougi_agreement_ratio", Kind.GAUGE, "Share of the votes for that line's move, 0 to 1; 1 without a vote."
)
NODE_NPS: Final = Metric("gougi_node_nps", Kind.GAUGE, "Nodes a second of one node in that search.", ("node",))
NODE_DEPTH: Final = Metric("gougi_node_depth", Kind.GAUGE, "Depth that one node has reached in that search.", ("node",))
NODE_HASHFULL: Final = Metric(
    "gougi_node_hashfull_ratio", Kind.GAUGE, "Use of one node's transposition table, 0 to 1.", ("node",)
)
NODE_SILENCE: Final = Metric(
    "gougi_node_heartbeat_age_seconds",
    Kind.GAUGE,
    "Time since the master last heard of a live node; at 0.8 s it counts as lost.",
    ("node",),
)
NODE_ANSWER: Final = Metric(
    "gougi_node_answer_seconds",
    Kind.HISTOGRAM,
    "From the master's sending of a job to the node's first report of it: the way there and back, and a first search.",
    buckets=SHORT_S,
)
NODE_JOINS: Final = Metric("gougi_node_joins_total", Kind.COUNTER, "Nodes that came, or came back.")
NODE_LOSSES: Final = Metric(
    "gougi_node_losses_total", Kind.COUNTER, "Losses of a node that did not leave by itself.", ("node",)
)
NODE_STARVED: Final = Metric(
    "gougi_node_starved_total", Kind.COUNTER, "Times that a node said that others take its cores.", ("node",)
)
DECISIONS: Final = Metric(
    "gougi_decisions_total", Kind.COUNTER, "Searches that ended, by the source of the decision.", ("source",), SOURCES
)
SEARCH_TIME: Final = Metric(
    "gougi_search_seconds", Kind.HISTOGRAM, "Time of a search, pondering before it left out.", buckets=MOVE_S
)
SEARCHED: Final = Metric(
    "gougi_searched_nodes_total", Kind.COUNTER, "Nodes of the tree that decided searches have looked at."
)
WASTED: Final = Metric(
    "gougi_wasted_nodes_total", Kind.COUNTER, "Of these: in jobs that brought nothing to the decision."
)
REDEALT: Final = Metric(
    "gougi_redeals_total", Kind.COUNTER, "Trees dealt again in a search, by reason.", ("why",), REDEALS
)
RESENT: Final = Metric("gougi_jobs_resent_total", Kind.COUNTER, "Jobs sent again: their node had not heard of them.")
JOBS_FAILED: Final = Metric("gougi_jobs_failed_total", Kind.COUNTER, "Jobs that failed in a node's engine.")
REFUSED: Final = Metric(
    "gougi_messages_refused_total", Kind.COUNTER, "Reports and messages of nodes, or of strangers, that were refused."
)
PONDER_HITS: Final = Metric("gougi_ponder_hits_total", Kind.COUNTER, "Searches that continued a ponder search.")
PONDER_MISSES: Final = Metric("gougi_ponder_misses_total", Kind.COUNTER, "Searches after pondering on other replies.")
SHARED_BYTES: Final = Metric(
    "gougi_shared_bytes_total",
    Kind.COUNTER,
    "Bytes of table entries that all nodes sent, counted once for each listener.",
)
SHARED_ENTRIES: Final = Metric(
    "gougi_shared_entries_total",
    Kind.COUNTER,
    "Table entries: sent, received, of these used (new to the listener's table), and dropped for the rate.",
    ("what",),
    ENTRIES,
)

FLEET: Final = (
    NODES, RAY_UP, SEARCHING, NPS, DEPTH, SCORE, AGREEMENT, NODE_NPS, NODE_DEPTH, NODE_HASHFULL, NODE_SILENCE,
    NODE_ANSWER, NODE_JOINS, NODE_LOSSES, NODE_STARVED, DECISIONS, SEARCH_TIME, SEARCHED, WASTED, REDEALT, RESENT,
    JOBS_FAILED, REFUSED, PONDER_HITS, PONDER_MISSES, SHARED_BYTES, SHARED_ENTRIES,
)  # fmt: skip
"""Metrics of the master about its fleet."""


class Meters:
    """The counters, gauges and histograms of some metrics, registered together; thread-safe."""

    def __init__(self, metrics: Iterable[Metric], registry: CollectorRegistry) -> None:
        self._made: dict[str, Any] = {}
        for metric in metrics:
            name = metric.name
            if metric.kind is Kind.COUNTER:
                made: Any = Counter(name, metric.meaning, metric.labels, registry=registry)
            elif metric.kind is Kind.GAUGE:
                made = Gauge(name, metric.meaning, metric.labels, registry=registry)
            else:
                made = Histogram(name, metric.meaning, metric.labels, registry=registry, buckets=metric.buckets)
            for value in metric.values:
                made.labels(value)
            self._made[name] = made

    def begin(self, metric: Metric, *labels: str) -> None:
        """Create a series with value 0 before its first event, so that its first increase is visible."""
        self._of(metric, labels)

    def add(self, metric: Metric, amount: float = 1, *labels: str) -> None:
        """Increase a counter."""
        self._of(metric, labels).inc(amount)

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """Set a gauge."""
        self._of(metric, labels).set(value)

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        self._of(metric, labels).observe(value)

    def _of(self, metric: Metric, labels: tuple[str, ...]) -> Any:
        made = self._made[metric.name]
        return made.labels(*labels) if labels else made
