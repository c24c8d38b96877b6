"""The other end of a connection, driven by a test."""

from __future__ import annotations

import asyncio
import socket

from master.csa.client import CsaConnection


class Peer:
    """A connection that keeps all received lines."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.connection: CsaConnection

    @classmethod
    async def connect(cls, address: tuple[str, int]) -> Peer:
        peer = cls()
        peer.connection = await CsaConnection.open(
            *address, on_line=peer.lines.put_nowait, on_lost=peer.lost.set_result
        )
        return peer

    async def until(self, start: str) -> str:
        while not (line := await self.lines.get()).startswith(start):
            pass
        return line

    def say(self, *lines: str) -> None:
        for line in lines:
            self.connection.send(line)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
