"""A peer with a node's key that lies, for the tests."""

from __future__ import annotations

import asyncio
import secrets
import threading

import msgpack
import zmq

from cluster.network.channel import ChannelAddress, ChannelClient
from cluster.network.messages import Heartbeat, Hello, Job, Leave, NewGame, Report, Stop, encode
from worker.engine import Bound

MOVES = ("5e5d", "9i1a+", "K*5e", "zzzz", "0000")
"""None of them is legal at the start of a game."""


class Liar:
    """A node by its hello, its heartbeats and the jobs that it takes; `lie` sends what no node would."""

    def __init__(self, address: ChannelAddress, node_id: str = "liar") -> None:
        self.node_id = node_id
        self._address = address
        self._job: Job | None = None
        self._lying = False
        self._mark = secrets.token_hex(4)
        """The same refusal is told once in a while only: this makes each liar's its own."""
        self._client = ChannelClient(
            address, Hello(node_id, self._mark, "elsewhere", 1, "rubbish"), self._take, lambda: (self._job_id, False)
        )
        self._client.start()

    @property
    def _job_id(self) -> int:
        return self._job.job_id if self._job is not None else 0

    @property
    def refusals(self) -> list[str]:
        """The master's answers to the first lies."""
        return [
            f"{self.node_id}/{self._mark}: message: Expected `object`, got `int`",
            f"{self.node_id}/{self._mark}: message.kind: Invalid value 'resign'",
            f"{self.node_id}: message: in the name of 'node-1/{self._mark}'",
            f"{self.node_id}/{self._mark}: a Heartbeat that is not its own",
        ]

    def lie(self) -> None:
        """Send, from a thread: what is no message, a message in another's name, and lines that no game can have."""
        threading.Thread(target=self._lie, daemon=True).start()

    def _lie(self) -> None:
        address = self._address
        with zmq.Context() as context, context.socket(zmq.DEALER) as raw:
            raw.linger = 500
            raw.curve_serverkey = address.server_public
            raw.curve_publickey, raw.curve_secretkey = address.client_public, address.client_secret
            raw.connect(address.url)
            own, other = (f"{node_id}/{self._mark}".encode() for node_id in (self.node_id, "node-1"))
            raw.send_multipart([own, b"rubbish"])
            raw.send_multipart([own, msgpack.packb({"kind": "resign", "node_id": "node-1"})])
            raw.send_multipart([other, encode(Leave("node-1", "it is tired"))])
        self._client.send(Heartbeat("node-1", "a", 0, True))
        self._lying = True
        if self._job is not None:
            self._lie_about(self._job)

    def _lie_about(self, job: Job) -> None:
        for depth, move in enumerate(MOVES, 1):
            self._client.send(
                Report(self.node_id, job.search_id, job.job_id, depth, depth, 3000, Bound.EXACT, 1, 1, 0, (move,))
            )

    def leave(self) -> None:
        """Say goodbye as a node does."""
        self._client.send(Leave(self.node_id, "it has lied enough"))

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)

    def _take(self, order: Job | Stop | NewGame) -> None:
        if isinstance(order, Job):
            self._job = order
            if self._lying:
                self._lie_about(order)
