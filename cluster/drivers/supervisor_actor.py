"""The Ray actor in each slot: it makes this machine's fork server keep one node there, as long as Ray keeps the slot.

The node itself is the fork server's child and knows nothing of Ray. If this actor dies, with its raylet or with all of
Ray, the node keeps searching, and the next supervisor that Ray places on the machine adopts it.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any, Final

from cluster.node.fork_server_link import Link
from cluster.node.sent_nets import NetNotKept, SentNet, found_net, keep_net

RESOURCE: Final = "searcher"
"""The custom Ray resource of which a machine has one unit for each node that it can run."""

_AGAIN_S: Final = 0.5


class SupervisorActor:
    """Calls block; `watch` needs its own concurrency group.

    Args:
        run: the master's run.
    """

    def __init__(self, run: str) -> None:
        self._run = run
        self._link: Link | None = None
        self._kept: tuple[str, bytes] = ("", b"")

    def placed(self) -> int:
        """The number of nodes for which this machine has room, according to Ray. Answers at once, before the fork
        server is ready, so that the master knows that Ray has placed this supervisor."""
        import ray

        here = ray.get_runtime_context().get_node_id()
        return max([1, *(int(node["Resources"].get(RESOURCE, 1)) for node in ray.nodes() if node["NodeID"] == here)])

    def orphan(self) -> str:
        """The id of a live node here without a supervisor; empty: there is none. Waits for the fork server."""
        self._link = Link(self._run)
        found: str = self._link.ask("orphan")
        return found

    def found_net(self, net: SentNet) -> str:
        """The file of that network on this machine; empty: it lacks it."""
        return str(found_net(net) or "")

    def keep_net(self, net: SentNet, chunks: list[Any]) -> tuple[str, str]:
        """The same, after fetching the network if no other node of this machine did; and why it cannot be kept.

        Args:
            chunks: Ray's references to all parts of its files.
        """
        import ray

        def fetched() -> Iterator[bytes]:
            while chunks:  # each is let go before the next comes
                yield ray.get(chunks.pop(0))

        try:
            return str(keep_net(net, fetched())), ""
        except NetNotKept as error:
            return "", f"{socket.gethostname()}: {error}"

    def keep(self, node_id: str, spec: bytes) -> None:
        """Keep that node here from now on; ``spec`` is its `NodeSpec`, pickled: it is not unpickled here."""
        assert self._link is not None
        self._kept = (node_id, spec)
        with contextlib.suppress(OSError):  # the fork server was killed just now: `watch` connects to the next one
            self._link.ask("keep", *self._kept)

    def watch(self) -> None:
        """Keep the node alive, even if the fork server ends. Does not return: if the caller gets Ray's error, the slot
        is lost."""
        while True:
            if self._link is not None:
                with contextlib.suppress(OSError):
                    self._link.wait()
                self._link.close()
                self._link = None
            try:
                self._link = Link(self._run)
                self._link.ask("keep", *self._kept)
            except OSError:
                time.sleep(_AGAIN_S)
