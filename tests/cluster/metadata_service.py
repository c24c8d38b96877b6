"""A stand-in for EC2's instance metadata service, version 2: in this process, or as a separate program.

As a program, ``python -m tests.cluster.metadata_service HOST PORT`` reads lines ``PATH VALUE`` (``PATH`` alone removes
the value), and prints ``set`` after each.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "a-session-token"


class MetadataService:
    """Serves ``values`` by path below ``/latest/meta-data/`` to clients with a session token.

    For several machines there is ``machines``: the values of each, by its address, and by the path below ``/VERSION/``.
    A path with a slash at its end lists its children.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.values: dict[str, str] = {}
        self.machines: dict[str, dict[str, str]] = {}
        self.token = TOKEN
        self.tokens_given = 0
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                good = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
                service.tokens_given += 1
                self._answer(200 if good else 400, service.token)

            def do_GET(self) -> None:
                value = service.find(self.client_address[0], self.path)
                if self.headers["X-aws-ec2-metadata-token"] != service.token:
                    self._answer(401, "")
                else:
                    self._answer(404 if value is None else 200, value or "")

            def log_message(self, format: str, *_arguments: object) -> None:
                """Prints nothing."""

            def _answer(self, code: int, text: str) -> None:
                self.send_response(code)
                self.end_headers()
                self.wfile.write(text.encode())

        self._server = ThreadingHTTPServer((host, port), Handler)
        self.endpoint = f"http://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def find(self, machine: str, path: str) -> str | None:
        """The service's answer to ``machine``; None: nothing is there."""
        if machine not in self.machines:
            return self.values.get(path.removeprefix("/latest/meta-data/"))
        values, below = self.machines[machine], path.split("/", 2)[-1]
        if not below.endswith("/"):
            return values.get(below)
        names = {name.removeprefix(below).partition("/") for name in values if name.startswith(below)}
        return "\n".join(sorted(name + slash for name, slash, _ in names)) or None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def serving() -> Iterator[MetadataService]:
    service = MetadataService()
    try:
        yield service
    finally:
        service.close()


if __name__ == "__main__":
    program = MetadataService(sys.argv[1], int(sys.argv[2]))
    print("serving", flush=True)
    for line in sys.stdin:
        path, _, value = line.strip().partition(" ")
        if value:
            program.values[path] = value
        else:
            program.values.pop(path, None)
        print("set", flush=True)
