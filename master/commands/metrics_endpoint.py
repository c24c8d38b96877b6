"""Serves the master's metrics for as long as a command plays."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector

from cluster.metrics.fleet import FleetMetrics
from cluster.metrics.server import PORTS, ListenAddress, MetricsServer
from master.config import MetricsConfig
from master.logs.game_metrics import GameMetrics


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics' listeners for a fleet and a player."""

    fleet: FleetMetrics
    game: GameMetrics
    nodes: ListenAddress
    """The address at which the first node's process serves metrics of its own."""
    url: str


@contextlib.contextmanager
def serving(
    config: MetricsConfig, player: str, tell: Callable[[str, dict[str, object]], None]
) -> Iterator[Metrics | None]:
    """Serve metrics until the end of the block; None where the configuration says no, or no port can be had.

    Args:
        player: its name.
        tell: hears where they are (``metrics_served``), or why they are not (``metrics_not_served``).
    """
    if not config.on:
        yield None
        return
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    fleet, game = FleetMetrics(registry), GameMetrics(registry, version("gougi"), player)
    try:
        server = MetricsServer(ListenAddress(config.listen, config.port, PORTS), registry, fleet.node_urls)
    except OSError as error:  # no reason not to play
        tell("metrics_not_served", {"error": str(error)})
        yield None
        return
    tell("metrics_served", {"url": server.url})
    counting = _Counting(game)
    root = logging.getLogger()
    if root.handlers:  # where no log is written, Python itself shows warnings, as long as nobody else takes them
        root.addHandler(counting)
    try:
        yield Metrics(fleet, game, ListenAddress(config.node_listen, config.node_port), server.url)
    finally:
        root.removeHandler(counting)
        server.close()


class _Counting(logging.Handler):
    """Counts the log's warnings and errors."""

    def __init__(self, game: GameMetrics) -> None:
        super().__init__(logging.WARNING)
        self._game = game

    def emit(self, record: logging.LogRecord) -> None:
        self._game.message("warning" if record.levelno < logging.ERROR else "error")
