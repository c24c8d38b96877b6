"""The connection to a CSA server: TCP, keep-alive, clear errors. What is said on it is `master.csa.protocol`'s matter.

Nothing here ever waits: a line that arrives is handed on at once, a line to send is written at once, whatever the
cluster or the disk are doing.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, Self

from master.csa.lines import LineProtocol

DEFAULT_PORT: Final = 4081
KEEP_ALIVE_S: Final = 40.0
"""An empty line goes out after this much silence of ours. The protocol forbids it within 30 s of any other line."""
CONNECT_TIMEOUT_S: Final = 15.0


class CsaConnectionError(Exception):
    """The server cannot be reached, or has closed the connection; the text says which and what to look at."""


class CsaConnection:
    """One TCP connection to a server. Made by `open`; ``on_line`` and ``on_lost`` are called on its event loop."""

    def __init__(self, on_line: Callable[[str], None], on_lost: Callable[[str], None], peer: str) -> None:
        self.peer = peer
        self._on_lost = on_lost
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keep_alive: asyncio.TimerHandle | None = None
        self._lines = LineProtocol(on_line, self._connection_lost)

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        on_line: Callable[[str], None],
        on_lost: Callable[[str], None],
        timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> Self:
        """Connect.

        Args:
            host: name or address.
            port: TCP port.
            on_line: gets each line, without its line break.
            on_lost: gets the reason, in words, once the connection is over, unless `close` was called.
            timeout_s: how long to try.

        Raises:
            CsaConnectionError: no such host, nobody listens, no answer in time.
        """
        if not 0 < port < 1 << 16:
            raise CsaConnectionError(f"{port} is no TCP port")
        self = cls(on_line, on_lost, f"{host}:{port}")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                await loop.create_connection(lambda: self._lines, host, port)
        except TimeoutError:
            raise CsaConnectionError(f"{self.peer} does not answer (waited {timeout_s:g} s)") from None
        except socket.gaierror as error:
            raise CsaConnectionError(f"no address is known for the host {host!r}: {error.strerror}") from error
        except ConnectionRefusedError as error:
            raise CsaConnectionError(f"{self.peer} refuses the connection: no server listens there") from error
        except (OSError, UnicodeError) as error:
            raise CsaConnectionError(f"cannot connect to {self.peer}: {error}") from error
        self._touch()
        return self

    def send(self, line: str) -> None:
        """Write a line. Nothing happens where the connection is gone: `on_lost` tells that."""
        self._lines.send(line)
        self._touch()

    async def close(self, timeout_s: float = 1.0) -> None:
        """Close, once what was written is out, or after ``timeout_s`` at the latest. Does not call ``on_lost``."""
        self._on_lost = lambda _: None
        self._stop_keep_alive()
        self._lines.close()
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(self._lost)
        except TimeoutError:
            self._lines.transport.abort()

    def _touch(self) -> None:
        """Something was sent: the time to the next sign of life starts again."""
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
        reason = f"{self.peer} closed the connection" if error is None else f"the line to {self.peer} broke: {error}"
        self._on_lost(reason)
