"""A master's end of the channel that records all messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cluster.network.channel import ChannelServer
from cluster.network.messages import Message


class Master:
    """A server that records all messages."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Message]] = []
        self.refused: list[tuple[str, str]] = []
        self.server = ChannelServer(lambda peer, message: self.heard.append((peer, message)), self._refuse)
        self.url = self.server.open()
        self.address = self.server.admit("n1")

    def _refuse(self, peer: str, why: str) -> None:
        self.refused.append((peer, why))

    def kinds(self, kind: type[Message]) -> list[Message]:
        return [message for _, message in self.heard if isinstance(message, kind)]


async def until(condition: Callable[[], object], timeout_s: float = 3.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - what is waited for comes from threads and sockets
            await asyncio.sleep(0.002)
