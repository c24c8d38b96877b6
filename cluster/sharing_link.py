"""The sockets on which nodes hear each other's table entries: one that all others may listen to, one that listens.

ZeroMQ publish and subscribe, beside the channel and past the master. Both ends of every connection prove by CURVE that
they hold the fleet's key pair: a listener that does not is refused, and one who only poses as a node gets no listener.
Nothing here blocks but `wait`: a listener that is behind loses batches, and nobody else notices.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterable
from typing import Final, cast
from urllib.parse import urlsplit

import zmq
from zmq.auth.thread import ThreadAuthenticator

from cluster.channel import ChannelAddress
from cluster.sharing import MOST_BATCH_BYTES

_log = logging.getLogger(__name__)

_QUEUE: Final = 20
"""Batches that wait for one listener, or of one peer: 0.1 s. Older ones are hardly worth their way."""


_MOST_SAID: Final = 1024
"""Bytes in what a listener says, its key's proof included: only that it listens."""


class ShareLink:
    """One node's sockets. `wake`, and what `__init__` made, are for any thread; all else for one.

    Args:
        keys: of the fleet; its ``url`` says over which of this machine's addresses the fleet is reached.

    Raises:
        OSError: there is no such address, or it cannot be listened on.
    """

    def __init__(self, keys: ChannelAddress) -> None:
        self._keys = keys
        self.refused = 0
        """Listeners that were turned away."""
        self.listeners = 0
        """As of the last `published_to`."""
        self._context = zmq.Context()
        self._authenticator = ThreadAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", self)
        self._out = self._context.socket(zmq.XPUB)
        # Tells of every listener that comes or goes, not only of the first and last.
        self._out.setsockopt(zmq.XPUB_VERBOSER, 1)
        self._out.curve_server = True
        self._out.setsockopt(zmq.MAXMSGSIZE, _MOST_SAID)
        self._in = self._context.socket(zmq.SUB)
        self._in.curve_serverkey = keys.client_public
        self._in.subscribe(b"")
        self._in.setsockopt(zmq.MAXMSGSIZE, MOST_BATCH_BYTES)
        self._in.setsockopt(zmq.RECONNECT_IVL, 100)
        self._in.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        self._in.setsockopt(zmq.CONNECT_TIMEOUT, 1000)
        for end in (self._out, self._in):
            end.curve_publickey, end.curve_secretkey = keys.client_public, keys.client_secret
            end.linger = 0
            end.sndhwm = end.rcvhwm = _QUEUE
            # A connection that was cut is given up by the system after some 4 s. Not by ZeroMQ's heartbeats: where a
            # queue is full and its peer goes, they end the process (libzmq 4.3.5, three times of three).
            end.setsockopt(zmq.TCP_KEEPALIVE, 1)
            end.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 1)
            end.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 1)
            end.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)
            end.setsockopt(zmq.TCP_MAXRT, 3000)
        self._bell_lock = threading.Lock()
        self._bell = self._context.socket(zmq.PAIR)
        self._rung = self._context.socket(zmq.PAIR)
        self._rung.bind("inproc://bell")
        self._bell.connect("inproc://bell")
        self._poller = zmq.Poller()
        self._poller.register(self._rung, zmq.POLLIN)
        self._heard: set[str] = set()
        try:
            host = _own_host(keys.url)
            self._out.bind(f"tcp://{host}:*")
        except OSError:
            self.close()
            raise
        except zmq.ZMQError as error:
            self.close()
            raise OSError(f"cannot listen on {host}: {error}") from error
        self.url = cast(bytes, self._out.getsockopt(zmq.LAST_ENDPOINT)).decode()
        """Where others listen."""

    def callback(self, _domain: str, key: bytes) -> bool:
        """For the authenticator, on its thread: whether the peer with this public key may come in."""
        if key == self._keys.client_public:
            return True
        if not self.refused:
            _log.warning("a listener without the fleet's key was refused")
        self.refused += 1
        return False

    def listen_to(self, urls: Iterable[str]) -> None:
        """Listen to these, and to no others any more. One that is not there yet is tried again and again."""
        wanted = set(urls)
        for url in self._heard - wanted:
            with contextlib.suppress(zmq.ZMQError):
                self._in.disconnect(url)
        self._heard &= wanted
        for url in wanted - self._heard:
            try:
                self._in.connect(url)
            except zmq.ZMQError as error:
                _log.warning("cannot listen to %s: %s", url, error)
                continue
            self._heard.add(url)

    def publish(self, batch: bytes) -> None:
        """Send to all that listen; who cannot take it now does not get it."""
        with contextlib.suppress(zmq.Again):
            self._out.send(batch, zmq.DONTWAIT)

    def count_listeners(self) -> int:
        """How many listen now."""
        with contextlib.suppress(zmq.Again):
            while True:
                said = self._out.recv(zmq.DONTWAIT)
                if said == b"\x01":
                    self.listeners += 1
                elif said == b"\x00":
                    self.listeners -= 1
        return self.listeners

    def receive(self, most: int = 1000) -> list[bytes]:
        """The batches that have come."""
        batches: list[bytes] = []
        with contextlib.suppress(zmq.Again):
            while len(batches) < most:
                batches.append(self._in.recv(zmq.DONTWAIT))
        return batches

    def wait(self, seconds: float | None, or_batch: bool = False) -> None:
        """Return after this time (None: never), when `wake` was called, or, if asked for, when a batch comes."""
        if or_batch:
            self._poller.register(self._in, zmq.POLLIN)
        ready = dict(self._poller.poll(None if seconds is None else max(0, round(seconds * 1000))))
        if or_batch:
            self._poller.unregister(self._in)
        if self._rung in ready:
            with contextlib.suppress(zmq.Again):
                while True:
                    self._rung.recv(zmq.DONTWAIT)

    def wake(self) -> None:
        """End a `wait`, from any thread; nothing happens after `close`."""
        with self._bell_lock, contextlib.suppress(zmq.Again):
            if not self._bell.closed:
                self._bell.send(b"", zmq.DONTWAIT)

    def close(self) -> None:
        """Nobody waits any more. More than once does no harm."""
        with self._bell_lock:
            self._bell.close(linger=0)
        for end in (self._rung, self._out, self._in):
            end.close(linger=0)
        self._authenticator.stop()
        self._context.term()


def _own_host(master_url: str) -> str:
    """The address of this machine by which it reaches the master: so the others of the fleet can reach it too.

    Raises:
        OSError: there is no way to the master.
    """
    parts = urlsplit(master_url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: it only has the system choose the way.
            probe.connect((parts.hostname or "", parts.port or 0))
        except OSError as error:
            raise OSError(f"no way to {master_url}: {error}") from error
        host: str = probe.getsockname()[0]
        return host
