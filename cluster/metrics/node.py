"""The metrics of a node's own process, from what it tells its master."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector

from cluster.metrics import catalogue
from cluster.metrics.catalogue import NODE, Meters
from cluster.metrics.fleet import entries_of
from cluster.metrics.server import ListenAddress, MetricsServer
from cluster.network.messages import Done, Hello, Report, Shared, Starves
from cluster.network.own_host import own_host

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class NodeMetrics:
    """Counts the messages of a node on their way, and serves what it counted; safe from any thread. Where that cannot
    be, the node searches without it.

    Args:
        node_id: for the log.
        address: where to serve them; None: nowhere.
        master_url: over which of this machine's addresses the fleet is reached.
    """

    def __init__(self, node_id: str, address: ListenAddress | None, master_url: str) -> None:
        self.url = ""
        """The address for the master's machine; empty: none."""
        self._meters: Meters | None = None
        self._server: MetricsServer | None = None
        self._job, self._counted = 0, 0
        """The job of the last message, and how many of its nodes are counted."""
        registry = self.registry = CollectorRegistry()
        if address is None:
            return
        try:
            server = self._server = MetricsServer(address, registry)
            everywhere = server.host in ("0.0.0.0", "::")
            self.url = server.url_at(own_host(master_url)) if everywhere else server.url
        except OSError as error:
            _log.warning("%s: no metrics: %s", node_id, error)
            return
        ProcessCollector(registry=registry)
        self._meters = Meters(NODE, registry)

    def watching(self, send: Callable[[_T], None]) -> Callable[[_T], None]:
        """A function that sends by ``send`` and then counts."""

        def pass_on(message: _T) -> None:
            send(message)
            self.count(message)

        return send if self._meters is None else pass_on

    def close(self) -> None:
        """End the server. More than once does no harm."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def count(self, message: object) -> None:
        """The node says something to its master."""
        meters = self._meters
        if meters is None:
            return
        match message:
            case Hello():
                meters.set(catalogue.WORKER_INFO, 1, message.node_id, message.engine, message.host)
            case Report():
                meters.add(catalogue.WORKER_REPORTS)
                self._count_nodes(meters, message.job_id, message.nodes)
                if message.multipv == 1:
                    meters.set(catalogue.WORKER_DEPTH, message.depth)
                    meters.set(catalogue.WORKER_HASHFULL, message.hashfull / 1000)
                    meters.set(catalogue.WORKER_NPS, message.nodes * 1000 / max(1, message.time_ms))
            case Done():
                self._count_nodes(meters, message.job_id, message.nodes)
                meters.add(catalogue.WORKER_TIME, message.time_ms / 1000)
                meters.add(catalogue.WORKER_JOBS, 1, "failed" if message.error else "done")
            case Starves():
                meters.add(catalogue.WORKER_STARVED)
            case Shared():
                meters.add(catalogue.WORKER_BYTES, message.bytes_out, "sent")
                meters.add(catalogue.WORKER_BYTES, message.bytes_in, "received")
                for what, count in zip(catalogue.ENTRIES, entries_of(message), strict=True):
                    meters.add(catalogue.WORKER_ENTRIES, count, what)

    def _count_nodes(self, meters: Meters, job: int, nodes: int) -> None:
        """Reports say how many nodes their job has searched so far. From the search's thread alone."""
        if job != self._job:
            self._job, self._counted = job, 0
        if nodes > self._counted:
            meters.add(catalogue.WORKER_SEARCHED, nodes - self._counted)
            self._counted = nodes
