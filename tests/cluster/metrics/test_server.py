"""The server of metrics, over real connections."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter

from cluster.metrics.server import MetricsServer


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    return registry


@pytest.fixture
def server(registry: CollectorRegistry) -> Iterator[MetricsServer]:
    server = MetricsServer(registry)
    yield server
    server.close()


def get(url: str) -> tuple[str, str]:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_figures(server: MetricsServer) -> None:
    kind, text = get(server.url)
    assert kind.startswith("text/plain; version=0.0.4") and "\nthings_total 3.0\n" in text


def test_a_port_that_is_taken(registry: CollectorRegistry, server: MetricsServer) -> None:
    with pytest.raises(OSError, match=f"no metrics at 127.0.0.1:{server.port}: "):
        MetricsServer(registry, port=server.port)
    other = MetricsServer(registry, port=server.port, ports=200)
    try:
        assert server.port < other.port < server.port + 200
        assert "things_total" in get(other.url)[1]
    finally:
        other.close()
