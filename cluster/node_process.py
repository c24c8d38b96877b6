"""A node as a process: engine, runner and channel together; as a Ray actor, and as the fallback's own process."""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from cluster.channel import ChannelAddress, ChannelClient
from cluster.messages import EVERY_JOB, Hello, Leave, Order, Peers, Stop
from cluster.node import NodeRunner
from cluster.presence import NodeState, Presence
from cluster.sharing_node import TableSharing
from worker.engine import STARTPOS, Engine, Limits, SharesTable
from worker.warm import warm_up

_log = logging.getLogger(__name__)

_FIRST_SEARCH_MS = 200
"""Time, for depth is no limit that every engine knows."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a node's process needs to know. It holds the channel's keys: pass it on, do not log it."""

    node_id: str
    address: ChannelAddress
    engine: Callable[[], Engine]
    """Makes the engine, in the node's process; picklable."""
    share_depth: int = 0
    """Its table is shared with those of other nodes from this depth on, where the engine can; 0: it is not."""
    share_keys: ChannelAddress | None = None
    """By which nodes that share know each other."""


class NodeService:
    """Makes the engine (compiling first, where this machine has not yet) and connects it to the master."""

    def __init__(self, spec: NodeSpec) -> None:
        warm_up()
        engine = spec.engine()
        # The first search is slow (code to load, pages to touch): it is made before anyone waits for it, and tells
        # how fast this machine is.
        engine.set_position(STARTPOS)
        first = engine.go(Limits(movetime_ms=_FIRST_SEARCH_MS))
        engine.new_game()
        self._ended = threading.Event()
        self._runner = NodeRunner(spec.node_id, engine, lambda message: self._channel.send(message))
        incarnation = secrets.token_hex(4)
        self._sharing = self._share(spec, engine, incarnation)
        self.hello = Hello(
            spec.node_id,
            incarnation,
            socket.gethostname()[:128],
            os.getpid(),
            engine.name[:128],
            engine.can_split,
            first.nodes * 1000 // max(1, first.time_ms),
            share_url=self._sharing.url if self._sharing else "",
            share_meaning=self._sharing.meaning if self._sharing else "",
        )
        self._channel = ChannelClient(
            spec.address, self.hello, self._take, self._runner.status, self._runner.master_lost
        )
        self._presence = self._enter()
        self._channel.start()

    def _enter(self) -> Presence | None:
        """A node that its machine's services do not know of searches all the same."""
        try:
            return Presence.enter(self.hello.node_id, self.hello.nps)
        except OSError as error:
            _log.warning("%s: cannot say that it is here: %s", self.hello.node_id, error)
            return None

    def _share(self, spec: NodeSpec, engine: Engine, incarnation: str) -> TableSharing | None:
        """Sharing is a help: a node that cannot take part searches without it."""
        if not spec.share_depth or spec.share_keys is None or not isinstance(engine, SharesTable):
            return None
        runner = self._runner
        try:
            return TableSharing(
                f"{spec.node_id}/{incarnation}",
                engine,
                spec.share_keys,
                spec.share_depth,
                busy=lambda: not runner.status()[1],
                report=lambda shared: self._channel.send(shared),
            )
        except OSError as error:
            _log.warning("%s: cannot share its table: %s", spec.node_id, error)
            return None

    def _take(self, order: Order) -> None:
        if not isinstance(order, Peers):
            self._runner.handle(order)
            if order == Stop(EVERY_JOB):
                self._now(NodeState.DISMISSED)
            if self._sharing is not None:
                self._sharing.wake()
        elif self._sharing is not None:
            self._sharing.take(order)

    def wait(self) -> None:
        """Return when the service was closed."""
        self._ended.wait()

    def leave(self, reason: str) -> None:
        """Ask the master to give this node's work to others. It goes on with it until the master dismisses it."""
        self._now(NodeState.LEAVING)
        self._channel.send(Leave(self.hello.node_id, reason))

    def _now(self, state: NodeState) -> None:
        if self._presence is not None:
            try:
                self._presence.now(state)
            except OSError as error:
                _log.warning("%s: cannot say that it is %s: %s", self.hello.node_id, state, error)

    def close(self) -> None:
        """End the search and say goodbye."""
        self.leave("closed")
        if self._sharing is not None:
            self._sharing.close()
        self._runner.close()
        self._channel.close()
        if self._presence is not None:
            self._presence.leave()
        self._ended.set()


class NodeActor:
    """The Ray actor on each machine. It only starts and ends the node: orders and reports go over the channel, and the
    search has its own thread, so that every call is answered at once, in the middle of a search too.

    SIGTERM is the sign that its machine or its service ends: the node leaves in order. Its process ends with Ray's on
    that machine, or when the master says so.
    """

    def __init__(self, spec: NodeSpec) -> None:
        self._service = NodeService(spec)
        signal.signal(signal.SIGTERM, lambda _number, _frame: self._leave())

    def _leave(self) -> None:
        # Not in the signal's handler itself: it may have interrupted whoever holds the outbox's lock.
        threading.Thread(target=self._service.leave, args=("SIGTERM",), daemon=True).start()

    def ready(self) -> str:
        """The incarnation, once the engine is made."""
        return self._service.hello.incarnation

    def watch(self) -> None:
        """Return when the node was closed. A caller that gets Ray's error instead knows that the process died; Ray
        says so within 20 ms. For a concurrency group of its own."""
        self._service.wait()

    def close(self) -> None:
        self._service.close()


def main() -> None:
    """The fallback's process: its `NodeSpec` comes, pickled, over standard input, whose end is the sign to go.

    So it ends with its parent, however that ends. It leaves Ctrl-C to the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spec: NodeSpec = pickle.load(sys.stdin.buffer)
    service = NodeService(spec)
    sys.stdin.buffer.read()
    service.close()


if __name__ == "__main__":
    main()
