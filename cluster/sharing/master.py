"""The master's part in sharing on the running loop: tells nodes their peers, and logs what they shared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from cluster.network.messages import Hello, Peers, Shared
from cluster.sharing.peers import Peering, SharedSum

_SETTLE_S: Final = 0.1
"""Seconds to wait after a change, so that nodes which come or go together are announced once."""
_GATHER_S: Final = 0.25
"""The nodes' reports of one search come within this time."""


class FleetSharing:
    """Keeps the nodes' peers up to date with the fleet.

    Args:
        bytes_per_s: what each node may send to all its listeners together.
        key_of: the public key by which a node proves its name.
        live: the nodes that live now.
        send: gives a node its order, or does nothing where it is not there.
        log: told of ``sharing`` (who hears how many) and, after a search, of ``shared`` (`SharedSum.take`).
    """

    def __init__(
        self,
        bytes_per_s: int,
        key_of: Callable[[str], str],
        live: Callable[[], Iterable[str]],
        send: Callable[[str, Peers], None],
        log: Callable[[str, dict[str, object]], None],
    ) -> None:
        self._peering = Peering(bytes_per_s, key_of)
        self._live = live
        self._send = send
        self._log = log
        self._sum = SharedSum()
        self._loop = asyncio.get_running_loop()
        self._telling: asyncio.TimerHandle | None = None
        self._logging: asyncio.TimerHandle | None = None

    def said_hello(self, hello: Hello) -> None:
        """Also once more, after a connection that was lost: its peers are told again."""
        self._peering.said_hello(hello)
        self.fleet_changed()

    def joined(self, node_id: str) -> None:
        """The node came, or came back."""
        self._peering.came_back(node_id)
        self.fleet_changed()

    def fleet_changed(self) -> None:
        if self._telling is None:
            self._telling = self._loop.call_later(_SETTLE_S, self._tell)

    def heard(self, shared: Shared) -> None:
        self._sum.add(shared)
        if self._logging is None:
            self._logging = self._loop.call_later(_GATHER_S, self._log_sum)

    def close(self) -> None:
        for timer in (self._telling, self._logging):
            if timer is not None:
                timer.cancel()

    def _tell(self) -> None:
        self._telling = None
        orders = self._peering.orders(self._live())
        for node_id, peers in orders:
            self._send(node_id, peers)
        if orders:
            self._log("sharing", {"told": len(orders), "listen_to": max(len(peers.urls) for _, peers in orders)})

    def _log_sum(self) -> None:
        self._logging = None
        self._log("shared", self._sum.take())
