"""The connection to a CSA server: keep-alive, the line's delay, clear errors.

`master.csa.protocol` decides the content. Nothing here waits: a received line is passed on at once, and a line to send
is written at once, even if the cluster or the disk is busy.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, Self

from master.csa.lines import LineProtocol

KEEP_ALIVE_S: Final = 40.0
"""An empty line is sent after we have been silent this long. The protocol forbids it within 30 s of another line."""
CONNECT_TIMEOUT_S: Final = 15.0
_ECHOED: Final = 7
"""Length of the start of a move (``+7776FU``) or of ``%TORYO`` and ``%KACHI`` with which the server's echo begins."""


class CsaConnectionError(Exception):
    """The server cannot be reached, or has closed the connection; the text says which, and gives advice."""


def look_up(host: str) -> None:
    """Raise `CsaConnectionError` if no address is known for a host. May take seconds."""
    try:
        socket.getaddrinfo(host, None)
    except socket.gaierror as error:
        raise _no_address(host, error) from error
    except UnicodeError as error:
        raise CsaConnectionError(f"{host!r} is no name of a host: {error}") from error


def _no_address(host: str, error: socket.gaierror) -> CsaConnectionError:
    return CsaConnectionError(f"no address is known for the host {host!r}: {error.strerror}")


class CsaConnection:
    """One TCP connection to a server. Created by `open`; ``on_line``, ``on_lost`` and ``on_echo`` are called on its
    event loop."""

    def __init__(
        self,
        on_line: Callable[[str], None],
        on_lost: Callable[[str], None],
        on_echo: Callable[[float], None],
        peer: str,
    ) -> None:
        self.peer = peer
        self.closed_by_peer = False
        """Whether the connection is over, and the other side closed it cleanly."""
        self._closing = False
        self._on_line = on_line
        self._on_lost = on_lost
        self._on_echo = on_echo
        self._unanswered: tuple[str, float] | None = None
        """The start of the line that the server will echo, and the time at which it was sent."""
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keep_alive: asyncio.TimerHandle | None = None
        self._lines = LineProtocol(self._receive, self._connection_lost)

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        on_line: Callable[[str], None],
        on_lost: Callable[[str], None],
        on_echo: Callable[[float], None] = lambda _: None,
        timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> Self:
        """Connect.

        Args:
            on_line: gets each line, without its line break.
            on_lost: gets the reason, in words, once the connection is over, unless `close` was called.
            on_echo: gets the time from sending a line (a move, a sign of life) to its echo, in milliseconds: the round
                trip plus the server's processing. Called after ``on_line``.

        Raises:
            CsaConnectionError: no such host, nobody listens, no answer in time.
        """
        if not 0 < port < 1 << 16:
            raise CsaConnectionError(f"{port} is no TCP port")
        self = cls(on_line, on_lost, on_echo, f"{host}:{port}")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                await loop.create_connection(lambda: self._lines, host, port)
        except TimeoutError:
            raise CsaConnectionError(f"{self.peer} does not answer (waited {timeout_s:g} s)") from None
        except socket.gaierror as error:
            raise _no_address(host, error) from error
        except ConnectionRefusedError as error:
            raise CsaConnectionError(f"{self.peer} refuses the connection: no server listens there") from error
        except (OSError, UnicodeError) as error:
            raise CsaConnectionError(f"cannot connect to {self.peer}: {error}") from error
        self._touch()
        return self

    def send(self, line: str) -> None:
        """Write a line. Nothing happens if the connection is gone: `on_lost` reports that."""
        if line[:1] in ("+", "-", "%", ""):
            self._unanswered = (line[:_ECHOED], asyncio.get_running_loop().time())
        self._lines.send(line)
        self._touch()

    async def close(self, timeout_s: float = 1.0) -> None:
        """Close, after pending output is sent, or after ``timeout_s`` at the latest. Does not call ``on_lost``."""
        self._on_lost = lambda _: None
        self._closing = True
        self._stop_keep_alive()
        self._lines.close()
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(self._lost)
        except TimeoutError:
            self._lines.transport.abort()

    def _receive(self, line: str) -> None:
        if self._unanswered is not None:
            begins, sent_s = self._unanswered
            if line.startswith(begins) if begins else not line:
                self._unanswered = None
                delay_ms = (asyncio.get_running_loop().time() - sent_s) * 1000
                self._on_line(line)
                self._on_echo(delay_ms)
                return
        self._on_line(line)

    def _touch(self) -> None:
        """Something was sent: restart the timer for the next sign of life."""
        self._stop_keep_alive()
        if not self._lost.done():
            self._keep_alive = asyncio.get_running_loop().call_later(KEEP_ALIVE_S, self.send, "")

    def _stop_keep_alive(self) -> None:
        if self._keep_alive is not None:
            self._keep_alive.cancel()
            self._keep_alive = None

    def _connection_lost(self, error: Exception | None) -> None:
        self._stop_keep_alive()
        if not self._lost.done():
            self._lost.set_result(None)
        self.closed_by_peer = error is None and not self._closing
        reason = f"{self.peer} closed the connection" if error is None else f"the line to {self.peer} broke: {error}"
        self._on_lost(reason)
