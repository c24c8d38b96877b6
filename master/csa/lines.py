"""Lines on a socket: framing, size limit, decoding, TCP options. Shared by the client and the practice server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, cast

from master.csa.protocol import MAX_LINE

KEEPALIVE_IDLE_S: Final = 30
KEEPALIVE_INTERVAL_S: Final = 10
KEEPALIVE_COUNT: Final = 15
SILENCE_MS: Final = 1000 * (KEEPALIVE_IDLE_S + KEEPALIVE_COUNT * KEEPALIVE_INTERVAL_S)
"""A peer that silently vanished is noticed after three minutes, even if a line of ours is under way. Not sooner: giving
up a connection loses a game, and a connection that recovers within the time on the clock does not."""


class LineProtocol(asyncio.Protocol):
    """Calls back with each line (without its LF or CRLF), and once when the connection is over.

    Bytes that are not UTF-8 become U+FFFD. Of a line longer than `MAX_LINE`, the first ``MAX_LINE + 1`` characters are
    passed on, so that the reader can refuse it, and the rest is dropped: memory stays bounded against any peer.
    """

    def __init__(
        self,
        on_line: Callable[[str], None],
        on_lost: Callable[[Exception | None], None],
        on_connected: Callable[[], None] | None = None,
    ) -> None:
        self._on_line = on_line
        self._on_lost = on_lost
        self._on_connected = on_connected
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._skipping = False

    @property
    def transport(self) -> asyncio.Transport:
        """Valid from `connection_made` on."""
        assert self._transport is not None
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            tune(sock)
        if self._on_connected is not None:
            self._on_connected()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            if self._skipping:
                self._skipping = False
            else:
                self._pass_on(line)
        if len(self._buffer) > MAX_LINE:
            if not self._skipping:
                self._pass_on(bytes(self._buffer))
                self._skipping = True
            self._buffer.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(exc)

    def send(self, line: str) -> None:
        """Write a line; does nothing if the connection is closing."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        """Close once everything written is out."""
        if self._transport is not None:
            self._transport.close()

    def _pass_on(self, line: bytes) -> None:
        self._on_line(line.removesuffix(b"\r").decode("utf-8", "replace")[: MAX_LINE + 1])


def tune(sock: socket.socket) -> None:
    """Send small lines at once, and notice a dead peer.

    A move that waits for Nagle's algorithm costs time on the clock.
    """
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_COUNT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MS)
