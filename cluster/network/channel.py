"""The stream of jobs, stops, reports and heartbeats between the master and its nodes, separate from Ray.

Reason: Ray's own calls collapse at 1,600 small messages a second and cost ten times the CPU; a job or a stop takes 0.1
ms here and 1 ms with Ray. One ZeroMQ connection per node (ROUTER at the master, DEALER at the node) carries both
directions, so orders keep their order.

**Keys.** Every connection is CURVE-encrypted. The master makes key pairs each time it opens: its own, whose public half
tells nodes that they talk to their master; one for each node, which admits a peer and identifies it; and the fleet's,
by which nodes recognize each other (`cluster.sharing.node`). Nodes get the address and keys (`ChannelAddress`) from the
process that starts them, never through an argument or a log.

A peer's name is its `Begun.peer`, and precedes each of its messages. It contains the node's id, which must match the
key of the connection, so that no peer can send or receive messages under another's name. Messages are
`cluster.network.messages`; anything else is refused and reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import zmq
import zmq.asyncio
from zmq.auth.asyncio import AsyncioAuthenticator
from zmq.utils.monitor import recv_monitor_message

from cluster.network.messages import MAX_BYTES, Begun, Heartbeat, Hello, Message, MessageError, Order, decode, encode
from worker.threads import show_name

_log = logging.getLogger(__name__)

_QUEUE = 10_000
"""The most messages that wait for one peer; beyond it, messages are lost."""
_UNREAD = 1000
"""The most messages of one peer that wait to be read, at either end; further ones wait at the sender."""
_AT_ONCE = 50
"""Messages that are read before the loop's other tasks get a turn."""
_MARGIN = 256
"""Bytes of an encrypted frame beyond its payload."""
_MOST_NAME = 257
_MOST_INCARNATIONS = 8
"""The most incarnations of one node that can be reached at a time: its process and the ones that it replaced."""
_PARTS = 2
"""Frames of a peer's message: its name, and the text."""


def give_up_the_dead(end: zmq.Socket[bytes]) -> None:
    """Let the operating system end a connection about 4 s after the machine at the other end lost power or the network.
    Call it before the socket listens or connects.

    ZeroMQ's heartbeats must not be used at an end to which many connect: if a queue is full and a peer leaves, they
    crash the process (libzmq 4.3.5, three times of three with the sockets of `cluster.sharing.node`).
    """
    end.setsockopt(zmq.TCP_KEEPALIVE, 1)
    end.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 1)
    end.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 1)
    end.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)
    end.setsockopt(zmq.TCP_MAXRT, 3000)


@dataclass(frozen=True, slots=True)
class ChannelAddress:
    """The master's address and the keys for a connection. Secret: keep it out of logs and arguments."""

    url: str
    server_public: bytes
    client_public: bytes
    client_secret: bytes = field(repr=False)


class ChannelServer:
    """The master's end, on the running asyncio loop.

    Args:
        on_message: called on the loop with the peer's name and its message.
        on_refused: called on the loop with the peer (empty: unknown) and the reason: not a message, no key, or another
            peer's name.
        host: the address to listen on.
        port: the port to listen on; 0: any free one.
    """

    def __init__(
        self,
        on_message: Callable[[str, Message], None],
        on_refused: Callable[[str, str], None],
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._on_message = on_message
        self._on_refused = on_refused
        self._host = host
        self._port = port
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._authenticator: AsyncioAuthenticator | None = None
        self._loop = asyncio.get_running_loop()
        self._reads_soon = False
        self._url = ""
        self._server_public = b""
        self._keys: dict[str, tuple[bytes, bytes]] = {}
        """The key pair, public and secret, of each admitted node."""
        self._node_ids: dict[bytes, str] = {}
        """Node ids by public key."""
        self._routes: dict[str, dict[str, bytes]] = {}
        """The socket's routing ids, by node and peer."""

    def open(self) -> str:
        """Listen. Returns the URL for a node on this machine; if the server listens on all addresses, it names the
        loopback address.

        Raises:
            OSError: the address cannot be bound.
        """
        self._server_public, server_secret = zmq.curve_keypair()
        self._context = zmq.Context()
        self._authenticator = AsyncioAuthenticator(zmq.asyncio.Context.shadow(self._context.underlying))
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", self)
        # Not an asyncio socket: its futures take more processor time than all other work on a message.
        socket = self._socket = self._context.socket(zmq.ROUTER)
        socket.curve_server = True
        socket.curve_publickey, socket.curve_secretkey = self._server_public, server_secret
        socket.linger = 0
        socket.sndhwm, socket.rcvhwm = _QUEUE, _UNREAD
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)  # report it if a peer is not connected
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_BYTES + _MARGIN)
        give_up_the_dead(socket)
        try:
            socket.bind(f"tcp://{self._host}:{self._port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            raise OSError(f"cannot listen on {self._host}:{self._port}: {error}") from error
        bound = cast(bytes, socket.getsockopt(zmq.LAST_ENDPOINT)).decode()
        self._loop.add_reader(socket.FD, self._read)
        self._read_soon()
        self._url = bound.replace("0.0.0.0", "127.0.0.1")
        return self._url

    def admit(self, node_id: str) -> ChannelAddress:
        """Admit the node with that id, in every incarnation. Returns its address and keys; nobody else may
        have it."""
        if node_id not in self._keys:
            self._keys[node_id] = zmq.curve_keypair()
        public, secret = self._keys[node_id]
        self._node_ids[public] = node_id
        return ChannelAddress(self._url, self._server_public, public, secret)

    def public_key(self, node_id: str) -> str:
        """The public key by which an admitted node proves its name, to other nodes too."""
        return self._keys[node_id][0].decode()

    def callback(self, _domain: str, key: bytes) -> bool:
        """Return whether the peer with this public key may connect; the authenticator calls this after the peer has
        proven that it has the secret key."""
        if key in self._node_ids:
            return True
        self._on_refused("", "a peer without a node's key")
        return False

    def send(self, peer: str, message: Message) -> bool:
        """Send at once or not at all. False: the peer is not connected, or too many messages wait for it."""
        routes = self._routes.get(peer.rpartition("/")[0], {})
        if self._socket is None or peer not in routes:
            return False
        self._read_soon()
        try:
            self._socket.send_multipart([routes[peer], encode(message)], zmq.DONTWAIT)
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                del routes[peer]
            return False
        return True

    def close(self) -> None:
        """Stop listening. More than once does no harm."""
        if self._socket is not None and not self._socket.closed:
            self._loop.remove_reader(self._socket.FD)
        if self._authenticator is not None:
            self._authenticator.stop()
        if self._socket is not None:
            self._socket.close(linger=0)
        if self._context is not None:
            self._context.term()
        self._context = self._socket = self._authenticator = None

    def _read_soon(self) -> None:
        """Schedule one more call of `_read`. ZeroMQ signals only once that messages wait, and a sending call may
        receive that signal instead of the loop."""
        if not self._reads_soon:
            self._reads_soon = True
            self._loop.call_soon(self._read)

    def _read(self) -> None:
        """Read waiting messages; after `_AT_ONCE` of them, the loop's other tasks get a turn."""
        self._reads_soon = False
        for _ in range(_AT_ONCE):
            if self._socket is None:
                return
            try:
                route, *frames = self._socket.recv_multipart(zmq.DONTWAIT, copy=False)
            except zmq.Again:
                return
            try:
                self._take(route, frames)
            except Exception:
                # Reading must go on: the system does not signal again for the messages that still wait.
                _log.exception("a message could not be handled")
        self._read_soon()

    def _take(self, route: zmq.Frame, frames: list[zmq.Frame]) -> None:
        # The authenticator took it from the connection itself, so every frame has it.
        node_id = self._node_ids[cast(str, frames[-1].get("User-Id")).encode()]
        peer = node_id
        try:
            peer = _name(node_id, frames)
            message = decode(frames[1].bytes)
        except MessageError as error:
            self._on_refused(peer, str(error))
            return
        routes = self._routes.setdefault(node_id, {})
        if isinstance(message, (Begun, Hello)) or peer not in routes:
            routes[peer] = route.bytes  # a peer that connects again gets its new route
            if len(routes) > _MOST_INCARNATIONS:
                del routes[next(iter(routes))]
        self._on_message(peer, message)


def _name(node_id: str, frames: list[zmq.Frame]) -> str:
    """The sender's name in a message of the node with that id.

    Raises:
        MessageError: it is not a message, or carries another peer's name.
    """
    if len(frames) != _PARTS:
        raise MessageError(f"message: {len(frames)} frames instead of {_PARTS}")
    name = frames[0].bytes[: _MOST_NAME + 1].decode(errors="replace")
    if name.rpartition("/")[0] != node_id or len(name) > _MOST_NAME:
        raise MessageError(f"message: in the name of {name!r}")
    return name


class ChannelClient:
    """A node's end, on a thread of its own.

    Args:
        greeting: the node's first message, sent again after each reconnection.
        on_order: called on the channel's thread with each order of the master.
        status: called for each heartbeat; returns the last job's id, and whether the node is idle.
        on_cut: called on the channel's thread when the master has been unreachable for ``cut_s``.
        on_gone: the same for ``gone_s``.
        heartbeat_s: seconds between two heartbeats.
        cut_s: seconds from the connection's end (detected about 3 s after a cable is cut), or from `start`.
        gone_s: seconds, counted as for ``cut_s``.
    """

    def __init__(
        self,
        address: ChannelAddress,
        greeting: Begun | Hello,
        on_order: Callable[[Order], None],
        status: Callable[[], tuple[int, bool]],
        on_cut: Callable[[], None] = lambda: None,
        heartbeat_s: float = 0.2,
        cut_s: float = 5.0,
        on_gone: Callable[[], None] = lambda: None,
        gone_s: float = 60.0,
    ) -> None:
        self._greeting = greeting
        self._name = greeting.peer.encode()
        self._on_order = on_order
        self._status = status
        self._heartbeat_s = heartbeat_s
        self._out_of_reach = ((cut_s, on_cut), (gone_s, on_gone))
        self._context = zmq.Context()
        self._outbox = self._context.socket(zmq.PUSH)
        self._outbox.sndhwm = 0
        self._outbox_lock = threading.Lock()
        inbox = self._context.socket(zmq.PULL)
        inbox.rcvhwm = 0
        inbox.bind("inproc://outbox")
        self._outbox.connect("inproc://outbox")
        socket = self._context.socket(zmq.DEALER)
        socket.curve_serverkey = address.server_public
        socket.curve_publickey, socket.curve_secretkey = address.client_public, address.client_secret
        socket.linger = 200
        socket.sndhwm, socket.rcvhwm = _QUEUE, _UNREAD
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_BYTES + _MARGIN)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        # If a connection breaks without a close, it is made again within these times.
        socket.setsockopt(zmq.HEARTBEAT_IVL, 1000)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3000)
        socket.setsockopt(zmq.CONNECT_TIMEOUT, 1000)
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        socket.connect(address.url)
        self._thread = threading.Thread(
            target=self._loop, args=(socket, inbox, monitor), name=f"channel-{greeting.node_id}", daemon=True
        )

    def start(self) -> None:
        """Send the greeting, and take orders from now on."""
        self._thread.start()

    def greet(self, greeting: Hello) -> None:
        """Use another greeting of the same peer from now on."""
        self._greeting = greeting
        self.send(greeting)

    def send(self, message: Message) -> None:
        """Hand a message to the channel's thread; from any thread, never blocks. Does nothing after `close`."""
        self._hand_over(encode(message))

    def close(self) -> None:
        """Send the waiting messages (for at most 0.2 s) and end. Idempotent."""
        self._hand_over(b"")
        self._thread.join(2.0)
        with self._outbox_lock:
            self._outbox.close(linger=0)
        self._context.term()

    def _hand_over(self, data: bytes) -> None:
        with self._outbox_lock:
            if not self._outbox.closed:
                self._outbox.send(data)

    def _loop(self, socket: zmq.Socket[bytes], inbox: zmq.Socket[bytes], monitor: zmq.Socket[bytes]) -> None:
        show_name("channel")
        poller = zmq.Poller()
        for source in (socket, inbox, monitor):
            poller.register(source, zmq.POLLIN)
        self._tell(socket, encode(self._greeting))
        cut_since: float | None = time.monotonic()
        told = 0
        greeted = False
        due = time.monotonic() + self._heartbeat_s
        while True:
            ready = dict(poller.poll(max(0, math.ceil((due - time.monotonic()) * 1000))))
            if socket in ready:
                self._take_orders(socket)
            if monitor in ready:
                connected = recv_monitor_message(monitor)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
                cut_since = None if connected else cut_since or time.monotonic()
                told = 0 if connected else told
                if connected and greeted:  # messages that were on their way when the last connection ended are lost
                    self._tell(socket, encode(self._greeting))
                greeted |= connected
            if inbox in ready and not self._pass_on(inbox, socket):
                break
            if time.monotonic() >= due:
                due = time.monotonic() + self._heartbeat_s
                job_id, idle = self._status()
                self._tell(socket, encode(Heartbeat(self._greeting.node_id, self._greeting.incarnation, job_id, idle)))
            if cut_since is not None and told < len(self._out_of_reach):
                after_s, tell = self._out_of_reach[told]
                if time.monotonic() - cut_since >= after_s:
                    told += 1
                    tell()
        socket.disable_monitor()
        inbox.close(linger=0)
        socket.close()

    def _take_orders(self, socket: zmq.Socket[bytes]) -> None:
        with contextlib.suppress(zmq.Again):
            while True:
                frames = socket.recv_multipart(zmq.DONTWAIT)
                try:
                    message = decode(b"".join(frames))
                except MessageError as error:
                    _log.warning("%s: refused an order: %s", self._greeting.node_id, error)
                    continue
                if isinstance(message, Order):
                    self._on_order(message)
                else:
                    _log.warning("%s: refused an order of kind %s", self._greeting.node_id, type(message).__name__)

    def _pass_on(self, inbox: zmq.Socket[bytes], socket: zmq.Socket[bytes]) -> bool:
        """Send the waiting messages of the outbox. False: the empty message that ends the thread was among them."""
        with contextlib.suppress(zmq.Again):
            while True:
                data = inbox.recv(zmq.DONTWAIT)
                if not data:
                    return False
                self._tell(socket, data)
        return True

    def _tell(self, socket: zmq.Socket[bytes], data: bytes) -> None:
        """Send to the master. If it has left 10,000 messages unread, it is gone, and the message is lost."""
        with contextlib.suppress(zmq.Again):
            socket.send_multipart([self._name, data], zmq.DONTWAIT)
