"""Serves metrics over HTTP, on its own threads.

::

    GET /metrics    the metrics for Prometheus

It answers no other request, and nothing can be changed. A client that sends nothing for 5 s is disconnected.
"""

from __future__ import annotations

import logging
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from worker.threads import show_name

_log = logging.getLogger(__name__)

_LONGEST_S: Final = 5.0
_POLL_S: Final = 0.1

PORTS: Final = 20
"""The number of ports that are tried, starting from the wanted one."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address to listen at. ``port`` 0: any free one; ``ports``: the number of ports that are tried, from ``port``
    on."""

    host: str = "127.0.0.1"
    port: int = 0
    ports: int = 1


class MetricsServer:
    """Serves the metrics of ``registry`` until `close`.

    Raises:
        OSError: no port of ``address`` is free.
    """

    def __init__(self, address: ListenAddress, registry: CollectorRegistry) -> None:
        self._server = self._open(address, registry)
        host, port = self._server.server_address[:2]
        self.host, self.port = str(host), int(port)
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the metrics, for this machine."""
        host = "127.0.0.1" if self.host == "0.0.0.0" else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving. Idempotent."""
        self._server.shutdown()
        self._server.server_close()

    def _open(self, address: ListenAddress, registry: CollectorRegistry) -> _Server:
        handler = type("Handler", (_Handler,), {"registry": registry})
        for port in range(address.port, address.port + max(1, address.ports)):
            try:
                return _Server((address.host, port), handler)
            except OSError as error:
                failure = error
                if not address.port:
                    break
        raise OSError(failure.errno, f"no metrics at {address.host}:{address.port}: {failure.strerror or failure}")

    def _serve(self) -> None:
        show_name("metrics")
        self._server.serve_forever(_POLL_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # Not http.server's method, which asks DNS for this machine's name.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a failed request, unless the client has only disconnected."""
        _log.debug("a request for metrics failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """One request per connection: HTTP/1.0."""

    registry: CollectorRegistry
    timeout = _LONGEST_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == "/metrics":
            self._answer(200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self.registry))
        else:
            self._answer(404, "text/plain; charset=utf-8", b"there is /metrics\n")

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: there would be a line for each scrape."""
