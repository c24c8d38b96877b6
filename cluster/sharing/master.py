"""The master's part in sharing: who listens to whom, and what the nodes say of their traffic.

Entries do not pass through the master. It tells each node by a `Peers` to which others it listens, and again whenever
the fleet changes. Only nodes whose entries mean the same hear each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from cluster.network.messages import Hello, Peers, Shared
from cluster.sharing.table import listens_to


class Peering:
    """Decides which node listens to which.

    Args:
        bytes_per_s: what each node may send to all its listeners together.
        key_of: the public key by which a node proves its name.
    """

    def __init__(self, bytes_per_s: int, key_of: Callable[[str], str]) -> None:
        self._bytes_per_s = bytes_per_s
        self._key_of = key_of
        self._hellos: dict[str, Hello] = {}
        self._told: dict[str, Peers] = {}

    def said_hello(self, hello: Hello) -> None:
        """A node's process began. It is told anew, whatever an earlier one was."""
        self._hellos[hello.node_id] = hello
        self._told.pop(hello.node_id, None)

    def came_back(self, node_id: str) -> None:
        """The node was out of reach, and may have missed what it was told."""
        self._told.pop(node_id, None)

    def orders(self, live: Iterable[str]) -> list[tuple[str, Peers]]:
        """The messages that are due, each with its node, now that these nodes live; none is sent twice."""
        groups: dict[str, list[Hello]] = {}
        for node_id in live:
            hello = self._hellos.get(node_id)
            if hello is not None and hello.share_url:
                groups.setdefault(hello.share_meaning, []).append(hello)
        found: list[tuple[str, Peers]] = []
        for group in groups.values():
            rate = self._bytes_per_s if len(group) > 1 else 0  # alone it would look for listeners all the time
            heard = [listens_to(index, len(group)) for index in range(len(group))]
            for index, hello in enumerate(group):
                others = sorted((group[i] for i in heard[index]), key=lambda other: other.node_id)
                peers = Peers(
                    urls=tuple(other.share_url for other in others),
                    names=tuple(other.node_id for other in others),
                    keys=tuple(self._key_of(other.node_id) for other in others),
                    listeners=tuple(
                        sorted(self._key_of(group[i].node_id) for i, those in enumerate(heard) if index in those)
                    ),
                    bytes_per_s=rate,
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
        """The fields of the log's ``shared``, and begin anew. Rates are means of a node over the time it shared."""
        said = self.said
        seconds = max(1, sum(shared.time_ms for shared in said)) / 1000
        entries_in = sum(shared.entries_in for shared in said)
        fields: dict[str, object] = {
            "nodes": len(self.nodes),
            "bytes_out_per_s": round(sum(shared.bytes_out for shared in said) / seconds),
            "bytes_in_per_s": round(sum(shared.bytes_in for shared in said) / seconds),
            "entries_out": sum(shared.entries_out for shared in said),
            "entries_in": entries_in,
            "used_share": round(sum(shared.used for shared in said) / entries_in, 3) if entries_in else 0.0,
            "min_depth": max(shared.min_depth for shared in said),
            "dropped": sum(shared.dropped for shared in said),
            "lost_batches": sum(shared.lost for shared in said),
            "refused": sum(shared.refused for shared in said),
        }
        self.nodes, self.said = set(), []
        return fields


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
        send: gives a node its order, or does nothing if it is not there.
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
