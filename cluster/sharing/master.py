"""The master's part in sharing: which node listens to which, and statistics of their traffic.

Entries do not pass through the master. It sends each node a `Peers` with the nodes to listen to, and a new one whenever
the fleet changes. Nodes use whole entries of those with the same evaluation, and the moves of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from cluster.network.messages import Hello, Peers, Shared
from cluster.sharing.table import hears


class Peering:
    """Decides which node listens to which.

    Args:
        bytes_per_s: the most that each node may send to all its listeners together.
        key_of: the public key by which a node proves its name.
    """

    def __init__(self, bytes_per_s: int, key_of: Callable[[str], str]) -> None:
        self._bytes_per_s = bytes_per_s
        self._key_of = key_of
        self._hellos: dict[str, Hello] = {}
        self._told: dict[str, Peers] = {}

    def said_hello(self, hello: Hello) -> None:
        """A node's process began. It gets its peers, even if an earlier process had them."""
        self._hellos[hello.node_id] = hello
        self._told.pop(hello.node_id, None)

    def came_back(self, node_id: str) -> None:
        """The node was unreachable, and may have missed an order."""
        self._told.pop(node_id, None)

    def orders(self, live: Iterable[str]) -> list[tuple[str, Peers]]:
        """The messages that are due for these live nodes, each with its node; none is sent twice."""
        known = (self._hellos.get(node_id) for node_id in live)
        nodes = [hello for hello in known if hello is not None and hello.share_url]
        heard = hears([hello.share_meaning for hello in nodes])
        found: list[tuple[str, Peers]] = []
        for index, hello in enumerate(nodes):
            others = sorted((nodes[i] for i in heard[index]), key=lambda other: other.node_id)
            listeners = [self._key_of(nodes[i].node_id) for i, those in enumerate(heard) if index in those]
            peers = Peers(
                urls=tuple(other.share_url for other in others),
                names=tuple(other.node_id for other in others),
                keys=tuple(self._key_of(other.node_id) for other in others),
                listeners=tuple(sorted(listeners)),
                # Without listeners it would check for them all the time.
                bytes_per_s=self._bytes_per_s if listeners or others else 0,
            )
            if self._told.get(hello.node_id) != peers:
                self._told[hello.node_id] = peers
                found.append((hello.node_id, peers))
        return found


@dataclass(slots=True)
class SharedSum:
    """The nodes' traffic, added up for one line of the log."""

    nodes: set[str] = field(default_factory=set)
    said: list[Shared] = field(default_factory=list)

    def add(self, shared: Shared) -> None:
        self.nodes.add(shared.node_id)
        self.said.append(shared)

    def take(self) -> dict[str, object]:
        """The fields of the log's ``shared``; resets the sums. Rates are means per node over the time during which it
        shared."""
        said = self.said
        seconds = max(1, sum(shared.time_ms for shared in said)) / 1000
        entries_in = sum(shared.entries_in for shared in said)
        fields: dict[str, object] = {
            "nodes": len(self.nodes),
            "bytes_out_per_s": round(sum(shared.bytes_out for shared in said) / seconds),
            "bytes_in_per_s": round(sum(shared.bytes_in for shared in said) / seconds),
            "entries_out": sum(shared.entries_out for shared in said),
            "entries_in": entries_in,
            "changes_out": sum(shared.changes_out for shared in said),
            "changes_in": sum(shared.changes_in for shared in said),
            "used_share": round(sum(shared.used for shared in said) / entries_in, 3) if entries_in else 0.0,
            "min_depth": max(shared.min_depth for shared in said),
            "dropped": sum(shared.dropped for shared in said),
            "lost_batches": sum(shared.lost for shared in said),
            "refused": sum(shared.refused for shared in said),
        }
        self.nodes, self.said = set(), []
        return fields


_SETTLE_S: Final = 0.1
"""Seconds to wait after a change, so that nodes that join or leave together are announced once."""
_GATHER_S: Final = 0.25
"""The nodes' reports about one search arrive within this time, in seconds."""


class FleetSharing:
    """Keeps the nodes' peers up to date with the fleet.

    Args:
        bytes_per_s: the most that each node may send to all its listeners together.
        key_of: the public key by which a node proves its name.
        live: the live nodes.
        send: sends an order to a node; does nothing if the node is not connected.
        log: called with ``sharing`` (how many peers each node has) and, after a search, with ``shared``
            (`SharedSum.take`).
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
        """Also called again after a lost connection: the node gets its peers again."""
        self._peering.said_hello(hello)
        self.fleet_changed()

    def joined(self, node_id: str) -> None:
        """The node joined or returned."""
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
