"""The server of metrics, by real connections: what it says, and whom it does not wait for."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter

from cluster.metrics.server import ListenAddress, MetricsServer

NODES = {"node-2": "http://10.0.0.2:9500/metrics", "node-10": "", "node-1": "http://10.0.0.1:9500/metrics"}


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    return registry


@pytest.fixture
def server(registry: CollectorRegistry) -> Iterator[MetricsServer]:
    server = MetricsServer(ListenAddress(), registry, lambda: NODES)
    yield server
    server.close()


def get(url: str) -> tuple[str, str]:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_figures_and_the_nodes(server: MetricsServer) -> None:
    kind, text = get(server.url)
    assert kind.startswith("text/plain; version=0.0.4") and "\nthings_total 3.0\n" in text
    kind, text = get(server.url.replace("/metrics", "/nodes"))
    assert kind == "application/json"
    assert json.loads(text) == [
        {"targets": ["10.0.0.1:9500"], "labels": {"node": "node-1"}},
        {"targets": ["10.0.0.2:9500"], "labels": {"node": "node-2"}},
    ]


@pytest.mark.parametrize("path", ["/", "/metrics/x", "/../etc/passwd", "/nodes/"])
def test_nothing_else_is_there(server: MetricsServer, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(server.url.replace("/metrics", path))
    assert caught.value.code == 404


def test_a_node_does_not_name_others(registry: CollectorRegistry) -> None:
    server = MetricsServer(ListenAddress(), registry)
    try:
        with pytest.raises(urllib.error.HTTPError):
            get(server.url.replace("/metrics", "/nodes"))
    finally:
        server.close()


def test_a_port_that_is_taken(registry: CollectorRegistry, server: MetricsServer) -> None:
    with pytest.raises(OSError, match=f"no metrics at 127.0.0.1:{server.port}: "):
        MetricsServer(ListenAddress("127.0.0.1", server.port), registry)
    other = MetricsServer(ListenAddress("127.0.0.1", server.port, 200), registry)
    try:
        assert server.port < other.port < server.port + 200
        assert "things_total" in get(other.url)[1]
    finally:
        other.close()


def test_addresses() -> None:
    assert ListenAddress("0.0.0.0", 9500).moved(3) == ListenAddress("0.0.0.0", 9503)
    assert ListenAddress("0.0.0.0").moved(3) == ListenAddress("0.0.0.0")
