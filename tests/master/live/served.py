"""A page's server on a separate thread, and a client that reads it as a program does: real TCP, real HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from master.live.asking import Asker
from master.live.facts import Fact
from master.live.page import Site
from master.live.server import Hub, listen, make_app, make_server
from tests.master.live.told import HEAD


class Served:
    """A context manager: ``site`` is shown at ``port`` of loopback."""

    def __init__(self, site: Site | None = None, token: str = "", asker: Asker | None = None) -> None:
        self.site = site or Site(HEAD)
        self._asker = asker
        self._token = token
        self._begun: Future[tuple[asyncio.AbstractEventLoop, Hub]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self.sock = listen("127.0.0.1", 0)
        self.port: int = self.sock.getsockname()[1]
        self._thread.start()
        self._loop, self.hub = self._begun.result(30)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(30)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        hub = Hub(self.site)
        self._server = make_server(make_app(hub, self._token, self._asker), hub)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._begun.set_result((asyncio.get_running_loop(), hub))
        await self._server.serve(sockets=[self.sock])

    def _end(self) -> None:
        self._server.should_exit = True

    def take(self, *facts: Fact) -> None:
        """On the server's thread, as the real one does."""

        def work() -> None:
            for fact in facts:
                self.site.take(fact)
            self.hub.changed()

        self._loop.call_soon_threadsafe(work)

    def get(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        """The answer to a request; its body is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers=headers)
        return connection.getresponse()

    def connect(self, request: bytes, receive_buffer: int = 0) -> socket.socket:
        """A connection on which ``request`` was sent, and nothing is read."""
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(60)
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(request)
        return sock


def states(answer: http.client.HTTPResponse) -> Any:
    """The states that a stream of events brings, one after the other; ends with it."""
    while line := answer.readline():
        if line.startswith(b"event: bye"):
            return
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))
