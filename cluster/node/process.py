"""A node as a process: engine, runner and channel together; forked (`cluster.node.fork_server`), or started as the
fallback.

Everything about a node goes over the channel: that its process began, that its engine cannot be made, that it can
search, that it leaves, and the master's order to end. So it needs neither Ray nor its parent process.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cluster.machine.presence import NodeState, Presence
from cluster.machine.status import sweep
from cluster.network.channel import ChannelAddress, ChannelClient
from cluster.network.messages import COMMON, EVERY_JOB, Begun, End, Failed, Hello, Job, Leave, Order, Peers, Stop
from cluster.network.own_host import machine_name
from cluster.network.scale import Scale
from cluster.node.runner import NodeRunner
from cluster.sharing.node import TableSharing
from worker.engine import Engine, EngineError, Limits, SharesTable
from worker.shogi import STARTPOS
from worker.warm import warm_up

_log = logging.getLogger(__name__)

NOT_NEEDED: Final = 0
"""Exit status: the master has dismissed it for good."""
AGAIN: Final = 75
"""Exit status: another process replaces it at once."""
ALONE: Final = 76
"""Exit status: the master was unreachable for a minute."""
FAILED: Final = 1
_FIRST_SEARCH_MS = 200
"""Milliseconds. A time, because not every engine supports a depth limit."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The values that a node's process needs. It holds the channel's keys: never log it."""

    node_id: str
    address: ChannelAddress
    engine: Callable[[], Engine]
    """Makes the engine, in the node's process; picklable."""
    share_depth: int = 0
    """It shares table entries of at least this depth with other nodes, if the engine can; 0: no sharing."""
    scale: Scale = COMMON
    """That of the engine's scores."""


class NodeService:
    """The service of a node: greets the master, makes the engine (after compiling, if needed) and serves the master.

    Args:
        before: how the previous process ended; empty: there was none.
        pause_s: seconds to wait before the engine is made, because it has failed several times.

    Raises:
        Exception: the engine cannot be made, for any reason; the master has been notified.
    """

    def __init__(self, spec: NodeSpec, before: str = "", pause_s: float = 0.0) -> None:
        self._node_id = spec.node_id
        self._incarnation = secrets.token_hex(4)
        self._ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._runner: NodeRunner | None = None
        self._sharing: TableSharing | None = None
        self._presence: Presence | None = None
        self._channel = ChannelClient(
            spec.address,
            Begun(spec.node_id, self._incarnation, before),
            self._take,
            self._status,
            self._cut,
            on_gone=lambda: self._end(ALONE),
        )
        self._channel.start()
        time.sleep(pause_s)
        try:
            hello = self._prepare(spec)
        except Exception as error:
            known = isinstance(error, (EngineError, OSError, ValueError))
            why = str(error) if known else f"{type(error).__name__}: {error}"
            self._channel.send(Failed(spec.node_id, why[:1000] or type(error).__name__))
            self._channel.close()
            raise
        self.hello = hello
        self._presence = self._enter()
        self._channel.greet(hello)

    def _prepare(self, spec: NodeSpec) -> Hello:
        warm_up()
        engine = spec.engine()
        # The first search is slow (code to load, pages to touch): it runs before anyone waits for it, and shows how
        # fast this machine is.
        engine.set_position(STARTPOS)
        first = engine.go(Limits(movetime_ms=_FIRST_SEARCH_MS))
        engine.new_game()
        runner = self._runner = NodeRunner(spec.node_id, engine, self._channel.send, spec.scale)
        sharing = self._sharing = self._share(spec, engine, runner)
        return Hello(
            spec.node_id,
            self._incarnation,
            machine_name(),
            os.getpid(),
            engine.name[:128],
            engine.can_split,
            first.nodes * 1000 // max(1, first.time_ms),
            share_url=sharing.url if sharing else "",
            share_meaning=sharing.meaning if sharing else "",
        )

    def _enter(self) -> Presence | None:
        """A node can search even if its machine's services do not know of it."""
        try:
            return Presence.enter(self.hello.node_id, self.hello.nps)
        except OSError as error:
            _log.warning("%s: cannot say that it is here: %s", self.hello.node_id, error)
            return None

    def _share(self, spec: NodeSpec, engine: Engine, runner: NodeRunner) -> TableSharing | None:
        """Sharing is optional: a node that cannot take part searches without it."""
        if not spec.share_depth or not isinstance(engine, SharesTable):
            return None
        try:
            return TableSharing(
                f"{spec.node_id}/{self._incarnation}",
                engine,
                spec.address,
                spec.share_depth,
                busy=lambda: not runner.status()[1],
                report=self._channel.send,
            )
        except OSError as error:
            _log.warning("%s: cannot share its table: %s", spec.node_id, error)
            return None

    def _status(self) -> tuple[int, bool]:
        return self._runner.status() if self._runner is not None else (0, True)

    def _cut(self) -> None:
        if self._runner is not None:
            self._runner.master_lost()

    def _take(self, order: Order) -> None:
        if isinstance(order, End):
            self._end(AGAIN if order.again else NOT_NEEDED)
        elif isinstance(order, Peers):
            if self._sharing is not None:
                self._sharing.take(order)
        elif self._runner is not None:  # until then there is nothing to do or to stop
            self._runner.handle(order)
            if order == Stop(EVERY_JOB):
                self._now(NodeState.DISMISSED)
            if self._sharing is not None and isinstance(order, Job):
                self._sharing.wake()

    def _end(self, status: int) -> None:
        """End the process, called on the channel's thread. The main thread ends it, unless it is still making the
        engine; then this ends it at once."""
        if self._runner is None:
            os._exit(status)
        self._ended.put(status)

    def wait(self) -> int:
        """Wait until the process is to end. Returns its exit status."""
        return self._ended.get()

    def leave(self, reason: str) -> None:
        """Ask the master to give this node's work to others. It keeps searching until the master dismisses it."""
        self._now(NodeState.LEAVING)
        self._channel.send(Leave(self._node_id, reason))

    def _now(self, state: NodeState) -> None:
        if self._presence is not None:
            try:
                self._presence.now(state)
            except OSError as error:
                _log.warning("%s: cannot say that it is %s: %s", self._node_id, state, error)

    def close(self) -> None:
        """End the search and say goodbye to the master."""
        self.leave("closed")
        if self._sharing is not None:
            self._sharing.close()
        if self._runner is not None:
            self._runner.close()
        self._channel.close()
        if self._presence is not None:
            self._presence.leave()


def run_node(spec: NodeSpec, before: str, pause_s: float) -> int:
    """Run one incarnation of a node; to be called on the main thread. Returns the exit status. For the arguments see
    `NodeService`.

    SIGTERM means that its machine or service ends: the node then leaves in order.
    """
    leaving: list[NodeService] = []

    def leave() -> None:
        if not leaving:  # it is still making its engine: no one counts on it yet
            os._exit(FAILED)
        leaving[0].leave("SIGTERM")

    # Not in the signal handler itself: it may have interrupted a thread that holds the outbox's lock.
    signal.signal(signal.SIGTERM, lambda _number, _frame: threading.Thread(target=leave, daemon=True).start())
    try:
        service = NodeService(spec, before, pause_s)
    except Exception:
        _log.exception("%s: the engine cannot be made", spec.node_id)
        return FAILED
    leaving.append(service)
    status = service.wait()
    service.close()
    if status == ALONE:
        sweep()  # in case the fork server, which normally does this, was killed with the master
    return status


def main() -> None:
    """The fallback's process: it reads its pickled `NodeSpec` from standard input, and ends when that closes.

    So it ends with its parent, however the parent ends. It leaves Ctrl-C and a closed terminal to the parent.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    spec: NodeSpec = pickle.load(sys.stdin.buffer)
    service = NodeService(spec)
    sys.stdin.buffer.read()
    service.close()


if __name__ == "__main__":
    main()
