"""Serves metrics for Prometheus over HTTP, on threads of their own."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, start_http_server

PORTS: Final = 20
"""The number of ports that are tried, starting from the wanted one."""


class MetricsServer:
    """Serves the metrics of ``registry`` until `close`.

    Args:
        port: 0: any free one.
        ports: the number of ports that are tried, from ``port`` on.

    Raises:
        OSError: none of them is free.
    """

    def __init__(self, registry: CollectorRegistry, host: str = "127.0.0.1", port: int = 0, ports: int = 1) -> None:
        for number in range(port, port + (ports if port else 1)):
            try:
                self._server, _ = start_http_server(number, host, registry)
                break
            except OSError as error:
                failure = error
        else:
            raise OSError(failure.errno, f"no metrics at {host}:{port}: {failure.strerror or failure}")
        self.host, self.port = host, self._server.server_port

    @property
    def url(self) -> str:
        """The URL of the metrics, for this machine."""
        host = "127.0.0.1" if self.host == "0.0.0.0" else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving. Idempotent."""
        self._server.shutdown()
        self._server.server_close()
