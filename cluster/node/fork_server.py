"""The fork server: a process on each machine that forks a master's nodes, and replaces each node that ends.

It has imported everything and loaded the compiled searcher, so a node starts in milliseconds. It has no other threads
and no ZeroMQ context, so it may fork. It does not need Ray: it replaces nodes even while Ray is gone. Its orders come
from the supervisors, which are Ray actors (`cluster.drivers.supervisor_actor`), or, if the fleet is one machine, from
the master itself.

If the fork server was killed, the next process that needs it starts a new one, which finds the live nodes by their
socket names (`cluster.node.fork_server_link`).

For a fleet of one machine it also cleans up if the master was killed: it ends the nodes and removes the master's file.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from cluster.machine.processes import end_session, stat_of
from cluster.network.frames import Frames, frame
from cluster.node.fork_server_link import Begin, fork_server_name, node_name, peer_of, running_nodes

_SHORTEST_RUN_S: Final = 3.0
"""A node that ends sooner is replaced after a pause, which doubles from `_PAUSE_S` on. The new process starts before
the pause, so it reports at once that the last one is dead."""
_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_CLOSING_S: Final = 1.0
"""Seconds for nodes to end by themselves after the master has gone."""
_FINDERS: Final = 4096
"""The most fork servers that may find a node, one after the other: Linux allows no longer queue."""
_FINDING_S: Final = 1.0
"""Seconds for finding a node. If it is not found, it is made a second time, and its old process is dismissed."""
_LEAVING_S: Final = 3.0
"""Seconds for nodes to leave when the machine's service ends: they notify the master."""
_IDLE_S: Final = 20.0
"""A fork server of another machine ends after this many seconds without a supervisor or node."""


class _Peer:
    """A connected peer."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.frames = Frames()


@dataclass(eq=False)
class _Node:
    """One node of this machine, across all its incarnations."""

    node_id: str
    spec: bytes = b""
    """Its pickled spec; empty: its fork server was killed and no one has asked for the node since."""
    pid: int = 0
    """The process of the current incarnation; 0: none runs."""
    pidfd: int = -1
    born_s: float = 0.0
    supervisor: _Peer | None = None
    due_s: float | None = None
    """The time at which the next incarnation begins."""
    pause_s: float = 0.0
    """Wait of the current incarnation before it makes its engine."""
    before: str = ""
    """How the last incarnation ended, as text."""
    ours: bool = field(default=True)
    """True: a child of this process; False: of a fork server that was killed."""


class ForkServer:
    """See the module docstring.

    Args:
        listener: the socket that has the fork server's name.
        run_node: runs a node's process, given its pickled spec, how the previous one ended, and the wait in seconds
            before it makes its engine; returns its exit status.
    """

    def __init__(self, begin: Begin, listener: socket.socket, run_node: Callable[[bytes, str, float], int]) -> None:
        self._run = begin.run
        self._local = begin.local
        self._run_node = run_node
        self._nodes: dict[str, _Node] = {}
        self._peers: set[_Peer] = set()
        self._leaving = False
        """SIGTERM arrived: the machine's service ends, and with it its nodes and their supervisors."""
        self._idle_since_s = time.monotonic()
        self._over = False
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        listener.listen(64)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        for node_id in running_nodes(self._run):
            self._find(_Node(node_id))

    def hear_master(self, stream: int, frames: Frames) -> None:
        """Take orders of the master from that descriptor too; when it closes, the fork server ends. ``frames`` holds
        the bytes read so far."""

        def obey(data: bytes) -> None:
            for order in frames.take(data):
                self._obey(None, *order)

        def read() -> None:
            data = os.read(stream, 1 << 16)
            self._over = not data
            obey(data)

        obey(b"")
        self._selector.register(stream, selectors.EVENT_READ, read)

    def leave(self) -> None:
        """Leave, because the machine's service ends. Called from a signal handler."""
        self._leaving = True

    def run(self) -> None:
        """Serve until no one needs it."""
        while not self._over:
            for key, _ in self._selector.select(self._wait_s()):
                key.data()
            for node in list(self._nodes.values()):
                if node.due_s is not None and time.monotonic() >= node.due_s:
                    self._fork(node)
            if not self._local:
                self._look_whether_needed()
        self._clean_up()

    def _wait_s(self) -> float | None:
        dues = [node.due_s for node in self._nodes.values() if node.due_s is not None]
        if not dues:
            return None if self._local else 1.0
        return max(0.0, min(dues) - time.monotonic())

    def _look_whether_needed(self) -> None:
        if self._peers or (self._nodes and not self._leaving):
            self._idle_since_s = time.monotonic()
        elif self._leaving or time.monotonic() - self._idle_since_s > _IDLE_S:
            self._over = True

    def _clean_up(self) -> None:
        """Wait for nodes to end by themselves if the master asked for that; kill the others."""
        deadline = time.monotonic() + (_LEAVING_S if self._leaving else _CLOSING_S)
        pids = [node.pid for node in self._nodes.values() if node.pid]
        while any(map(_alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in pids:
            end_session(pid)
        if self._local:
            from cluster.machine.status import sweep

            sweep()

    # --- orders ---------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            try:
                peer_of(connection)
            except OSError:
                connection.close()
                return
            peer = _Peer(connection)
            self._peers.add(peer)
            self._selector.register(connection, selectors.EVENT_READ, partial(self._read, peer))

    def _read(self, peer: _Peer) -> None:
        try:
            data = peer.connection.recv(1 << 16)
            for order in peer.frames.take(data):
                peer.connection.sendall(frame(self._obey(peer, *order)))
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(peer.connection)
            peer.connection.close()
            self._peers.discard(peer)
            for node in self._kept_by(peer):
                node.supervisor = None

    def _obey(self, peer: _Peer | None, order: str, *arguments: Any) -> object:
        """Carry out an order and return its reply."""
        match order:
            case "start":  # from the master: keep that node alive, with or without a supervisor
                self._start(*arguments)
                return None
            case "orphan":  # from a supervisor: return the live node without a supervisor and keep it from now on
                return self._adopt(peer)
            case "keep":  # from a supervisor: that node lives as long as it does; end its other node
                node_id, spec = arguments
                for node in self._kept_by(peer):
                    if node.node_id != node_id:
                        self._end(node)
                self._start(node_id, spec).supervisor = peer
                return self._nodes[node_id].pid
        raise ValueError(f"unknown order {order!r}")

    def _adopt(self, peer: _Peer | None) -> str:
        for node in self._nodes.values():
            if node.supervisor is None:
                node.supervisor = peer
                return node.node_id
        return ""

    def _kept_by(self, peer: _Peer | None) -> Iterator[_Node]:
        return (node for node in list(self._nodes.values()) if node.supervisor is peer)

    # --- nodes ----------------------------------------------------------------------------------------------------

    def _start(self, node_id: str, spec: bytes) -> _Node:
        node = self._nodes.setdefault(node_id, _Node(node_id))
        node.spec = spec
        if not node.pid and node.due_s is None:
            self._fork(node)
        return node

    def _end(self, node: _Node) -> None:
        """End the node: another incarnation has replaced it elsewhere."""
        del self._nodes[node.node_id]
        if node.pid:
            self._selector.unregister(node.pidfd)
            os.close(node.pidfd)
            end_session(node.pid)
            if node.ours:
                with suppress(ChildProcessError):
                    os.waitpid(node.pid, 0)

    def _fork(self, node: _Node) -> None:
        node.due_s = None
        try:
            pid = os.fork()
        except OSError as error:  # no memory or process slot free now
            node.due_s = time.monotonic() + _LONGEST_PAUSE_S
            node.before = str(error)[:128]
            return
        if pid == 0:
            self._become(node)
        node.pid, node.ours = pid, True
        self._watch(node)

    def _become(self, node: _Node) -> None:
        """Become the node, in the new process. Does not return."""
        status = 1
        try:
            os.setsid()
            # These belong to the fork server. Python's objects for them stay alive, so that nothing closes these
            # numbers again.
            os.closerange(3, 1 << 16)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            if self._local:  # the master waits until the fork server's stderr closes, and the node may live longer
                os.dup2(null, 2)
            os.close(null)
            name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with suppress(OSError):  # the name is taken: then no later fork server finds the node
                name.bind(node_name(self._run, node.node_id))
                # Nothing accepts here: each fork server that finds the node leaves one connection in the queue.
                name.listen(_FINDERS)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            status = self._run_node(node.spec, node.before, node.pause_s)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _find(self, node: _Node) -> None:
        """Watch a node of a killed fork server as one of ours."""
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_FINDING_S)  # the queue may be full
            connection.connect(node_name(self._run, node.node_id))
            node.pid, node.ours = peer_of(connection), False
            self._watch(node)
            self._nodes[node.node_id] = node

    def _watch(self, node: _Node) -> None:
        node.born_s = time.monotonic()
        node.pidfd = os.pidfd_open(node.pid)
        self._selector.register(node.pidfd, selectors.EVENT_READ, partial(self._ended, node))

    def _ended(self, node: _Node) -> None:
        from cluster.node.process import AGAIN, ALONE, NOT_NEEDED

        if self._nodes.get(node.node_id) is not node:
            return  # another order at the same moment has ended it
        self._selector.unregister(node.pidfd)
        os.close(node.pidfd)
        status: int | None = None
        if node.ours:
            _, how = os.waitpid(node.pid, 0)
            status = os.waitstatus_to_exitcode(how)
        end_session(node.pid)  # its remaining processes
        node.pid = 0
        alone = status == ALONE and not self._local and node.supervisor is None
        if status == NOT_NEEDED or alone or self._leaving or not node.spec:
            del self._nodes[node.node_id]
        elif status == AGAIN:
            node.before, node.pause_s = "", 0.0
            self._fork(node)
        else:
            self._again(node, _in_words(status))

    def _again(self, node: _Node, before: str) -> None:
        node.before = before
        lived_s = time.monotonic() - node.born_s
        if lived_s < node.pause_s:  # it failed at the start
            node.due_s = time.monotonic() + node.pause_s
        short = lived_s - node.pause_s < _SHORTEST_RUN_S
        node.pause_s = min(max(_PAUSE_S, node.pause_s * 2), _LONGEST_PAUSE_S) if short else 0.0
        if node.due_s is None:
            self._fork(node)


def _in_words(status: int | None) -> str:
    if status is None or status == -signal.SIGKILL:
        return "its process died"
    return f"its process died: {signal.Signals(-status).name if status < 0 else f'exit status {status}'}"


def _alive(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.lives


def _prepare() -> None:
    """Import and load everything that a node needs, by running one search."""
    from cluster.engine_spec import EngineSpec
    from cluster.node import process as node_process
    from worker.engine import Limits
    from worker.shogi import STARTPOS
    from worker.warm import warm_up

    warm_up()
    engine = EngineSpec(hash_mb=1).build()
    engine.set_position(STARTPOS)
    engine.go(Limits(nodes=2000))
    engine.close()
    del engine, node_process
    gc.collect()
    gc.freeze()  # pages that are never written to are shared with all nodes


def _run_node(spec: bytes, before: str, pause_s: float) -> int:
    from cluster.node import process as node_process

    return node_process.run_node(pickle.loads(spec), before, pause_s)


def main() -> None:
    """The process. It reads its `Begin` from standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames = Frames()
    begin: Begin | None = None
    while begin is None:
        data = os.read(0, 1 << 16)
        if not data:
            return
        begin = next(frames.take(data), None)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(fork_server_name(begin.run))
    except OSError:
        if begin.local:
            raise
        return  # a fork server is there already
    if not begin.local:
        if os.fork():
            os._exit(0)
        os.setsid()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it was sent to the whole group: the master handles it
    try:
        _prepare()
    except Exception:
        if begin.local:
            raise  # the master logs the last words
        # Each node meets the same fault and reports it to the master; nobody reads this output.
        traceback.print_exc()
    fork_server = ForkServer(begin, listener, _run_node)
    if begin.local:
        fork_server.hear_master(0, frames)
    else:
        signal.signal(signal.SIGTERM, lambda _number, _frame: fork_server.leave())
    fork_server.run()


if __name__ == "__main__":
    main()
