"""A node's part in sharing: the sockets on which nodes exchange table entries and histories, and the thread that sends
and takes them every few milliseconds during a search.

It uses ZeroMQ publish and subscribe, separate from the channel and not through the master: one socket to which others
listen, and one for each node that it listens to. Each node proves its name by its own key, at both ends of a connection
(CURVE): a peer that the master did not name may not listen, and an impostor gets no listeners. Only `wait` blocks: a
slow listener loses batches, without effect on others.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import numpy as np
import zmq
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import recv_monitor_message

from cluster.network.channel import ChannelAddress, give_up_the_dead
from cluster.network.messages import Peers, Shared
from cluster.network.own_host import own_host
from cluster.sharing.histories import HistoryRounds
from cluster.sharing.table import (
    CHANGE_BYTES,
    ENTRY_BYTES,
    MEANING_BYTES,
    MOST_BATCH_BYTES,
    BatchError,
    Sequences,
    ShareDepth,
    TokenBucket,
    Traffic,
    decode_batch,
    encode_batch,
    header_bytes,
    thinned,
)
from worker.engine import Entries, HistoryChanges, SharesTable
from worker.threads import show_name

_log = logging.getLogger(__name__)

_QUEUE: Final = 8
"""The most batches that wait for one listener, or from one peer: 0.2 to 0.5 s. Older ones are hardly worth sending."""
_MOST_SAID: Final = 1024
"""The most bytes in a listener's message, including its key's proof: it only subscribes."""
_LOOK_S: Final = 0.1
"""The least time, in seconds, between two checks of the connections; `_IDLE_S` while nothing happens."""
_IDLE_S: Final = 0.25
_AGAIN_S: Final = 0.5
"""Seconds until a node that refused us is tried again: it learns of us at about the same time as we learn of it."""
_MOST_REFUSED: Final = 10
"""The number of listeners that may connect too early before a refusal is logged."""
_REFUSED: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)


@dataclass(frozen=True, slots=True)
class Source:
    """A node to listen to."""

    node_id: str
    url: str
    key: str
    """Its public key."""


class ShareLink:
    """One node's sockets. `wake` and attributes set in `__init__` may be used from any thread; everything else from
    one.

    Args:
        keys: this node's own; ``url`` determines which of this machine's addresses leads to the fleet.

    Raises:
        OSError: there is no such address, or listening fails.
    """

    def __init__(self, keys: ChannelAddress) -> None:
        self._keys = keys
        self.refused = 0
        """The number of refused listeners."""
        self.listeners = 0
        """The number of listeners at the last `published_to`."""
        self._context = zmq.Context()
        self._authenticator = ThreadAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", self)
        self._out = self._context.socket(zmq.XPUB)
        # Report every listener that connects or leaves, not only the first and last.
        self._out.setsockopt(zmq.XPUB_VERBOSER, 1)
        self._out.curve_server = True
        self._out.setsockopt(zmq.MAXMSGSIZE, _MOST_SAID)
        self._set_up(self._out)
        self._admitted: frozenset[bytes] = frozenset()
        self._bell_lock = threading.Lock()
        self._bell = self._context.socket(zmq.PAIR)
        self._rung = self._context.socket(zmq.PAIR)
        self._rung.bind("inproc://bell")
        self._bell.connect("inproc://bell")
        self._poller = zmq.Poller()
        self._poller.register(self._rung, zmq.POLLIN)
        self._in: dict[Source, _Ear] = {}
        self._looked = time.monotonic()
        try:
            host = own_host(keys.url)
            self._out.bind(f"tcp://{host}:*")
        except OSError:
            self.close()
            raise
        except zmq.ZMQError as error:
            self.close()
            raise OSError(f"cannot listen on {host}: {error}") from error
        self.url = cast(bytes, self._out.getsockopt(zmq.LAST_ENDPOINT)).decode()
        """The address at which others listen."""

    def callback(self, _domain: str, key: bytes) -> bool:
        """Return whether the peer with this public key may connect; called on the authenticator's thread."""
        if key in self._admitted:
            return True
        self.refused += 1
        if self.refused == _MOST_REFUSED:
            _log.warning("refused a listener that the master has not named")
        return False

    def admit(self, keys: Iterable[str]) -> None:
        """Allow peers with these public keys to listen from now on; current listeners stay."""
        self._admitted = frozenset(key.encode() for key in keys)

    def listen_to(self, sources: Iterable[Source]) -> None:
        """Listen to these nodes only. One that is not reachable yet is tried again and again."""
        wanted = set(sources)
        for source in self._in.keys() - wanted:
            self._in.pop(source).close()
        for source in wanted - self._in.keys():
            socket = self._context.socket(zmq.SUB)
            try:
                self._set_up(socket)
                socket.curve_serverkey = source.key.encode()
                socket.subscribe(b"")
                socket.setsockopt(zmq.MAXMSGSIZE, MOST_BATCH_BYTES)
                socket.setsockopt(zmq.RECONNECT_IVL, 100)
                socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
                socket.setsockopt(zmq.CONNECT_TIMEOUT, 1000)
                self._in[source] = _Ear(socket, source.url)
            except (zmq.ZMQError, ValueError) as error:
                socket.close()
                _log.warning("cannot listen to %s at %s: %s", source.node_id, source.url, error)

    def publish(self, batch: bytes) -> None:
        """Send to all listeners; one that cannot take it now does not get it."""
        with contextlib.suppress(zmq.Again):
            self._out.send(batch, zmq.DONTWAIT)

    def count_listeners(self) -> int:
        """Count the current listeners."""
        with contextlib.suppress(zmq.Again):
            while True:
                said = self._out.recv(zmq.DONTWAIT)
                if said == b"\x01":
                    self.listeners += 1
                elif said == b"\x00":
                    self.listeners -= 1
        return self.listeners

    def receive(self, most: int = 1000) -> list[tuple[str, bytes]]:
        """Read the messages that have arrived, each with its node; a message in several parts is not a batch and is
        dropped."""
        batches: list[tuple[str, bytes]] = []
        for source, ear in self._in.items():
            with contextlib.suppress(zmq.Again):
                while len(batches) < most:
                    frames = ear.socket.recv_multipart(zmq.DONTWAIT, copy=False)
                    batches.append((source.node_id, frames[0].bytes if len(frames) == 1 else b""))
        self._look()
        return batches

    def wait(self, seconds: float | None, or_batch: bool = False) -> None:
        """Return after this time (None: never), when `wake` was called, or, with ``or_batch``, when a batch arrives."""
        ears = [ear.socket for ear in self._in.values()] if or_batch else []
        for ear in ears:
            self._poller.register(ear, zmq.POLLIN)
        ready: dict[Any, int] = {}
        while not ready:
            ready = dict(self._poller.poll(max(0, round((_IDLE_S if seconds is None else seconds) * 1000))))
            if seconds is not None:
                break
            self._look()
        for ear in ears:
            self._poller.unregister(ear)
        if self._rung in ready:
            with contextlib.suppress(zmq.Again):
                while True:
                    self._rung.recv(zmq.DONTWAIT)

    def wake(self) -> None:
        """End a `wait`, from any thread; does nothing after `close`."""
        with self._bell_lock, contextlib.suppress(zmq.Again):
            if not self._bell.closed:
                self._bell.send(b"", zmq.DONTWAIT)

    def close(self) -> None:
        """Close the sockets. No thread may be waiting. Idempotent."""
        with self._bell_lock:
            self._bell.close(linger=0)
        for ear in self._in.values():
            ear.close()
        self._in.clear()
        for end in (self._rung, self._out):
            end.close(linger=0)
        self._authenticator.stop()
        self._context.term()

    def _set_up(self, end: zmq.Socket[bytes]) -> None:
        end.curve_publickey, end.curve_secretkey = self._keys.client_public, self._keys.client_secret
        end.linger = 0
        end.sndhwm = end.rcvhwm = _QUEUE
        give_up_the_dead(end)

    def _look(self) -> None:
        """Periodically retry nodes that refused us."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        for ear in self._in.values():
            ear.look(now)


class _Ear:
    """The socket that listens to one node."""

    def __init__(self, socket: zmq.Socket[bytes], url: str) -> None:
        self.socket = socket
        self._url = url
        self._monitor = socket.get_monitor_socket(_REFUSED)
        self._again_at: float | None = None
        try:
            socket.connect(url)
        except BaseException:
            self.close()
            raise

    def look(self, now: float) -> None:
        """Connect again if we were refused some time ago: ZeroMQ does not retry."""
        with contextlib.suppress(zmq.Again):
            while True:
                recv_monitor_message(self._monitor, zmq.DONTWAIT)
                self._again_at = now + _AGAIN_S
        if self._again_at is not None and now >= self._again_at:
            self._again_at = None
            with contextlib.suppress(zmq.ZMQError):
                self.socket.disconnect(self._url)
            self.socket.connect(self._url)

    def close(self) -> None:
        self.socket.disable_monitor()
        self._monitor.close(linger=0)
        self.socket.close(linger=0)


_SOONEST_S: Final = 0.03
_LATEST_S: Final = 0.06
"""Seconds between two rounds, at first and later. A round takes 0.7 to 0.9 ms of the node's core."""
_PART: Final = 1 / 8
"""Between these limits: this part of the time since the search began. So a short search shares often enough, and a long
one spends less on it."""
_HISTORIES: Final = 1 / 8
"""The part of the rate that histories get at most: 1 MB/s of the default."""
_JUDGE_S: Final = 0.1
"""Seconds between two checks of the depth."""
_REPORT_S: Final = 5.0
"""Seconds between two reports of a long search about sharing; its end always reports."""
_MOST_COMPLAINTS: Final = 100


class TableSharing:
    """Shares the table of ``engine`` with the nodes that the master names.

    How to use one::

        sharing = TableSharing("node-1/ab12", engine, keys, busy, report)
        sharing.take(peers)                        # any thread; nothing is sent or taken before
        sharing.wake()                             # any thread: a search begins; it ends when `busy` says so
        sharing.close()                            # before the engine is closed

    Args:
        peer: this node's name in its batches.
        keys: this node's own keys.
        busy: whether a search runs; called from the sharing thread, every few ms while it returns True.
        report: called on the sharing thread when a search is over, and every few seconds of a long one.
    """

    def __init__(
        self,
        peer: str,
        engine: SharesTable,
        keys: ChannelAddress,
        shallowest: int,
        busy: Callable[[], bool],
        report: Callable[[Shared], None],
    ) -> None:
        self._peer = peer
        self._engine = engine
        self._busy = busy
        self._report = report
        self.meaning = engine.entries_meaning()
        """The meaning of the words in an entry, hashed: 32 hexadecimal digits."""
        if len(self.meaning) != 2 * MEANING_BYTES:
            raise ValueError(f"an engine's entries_meaning is {self.meaning!r}: expected {MEANING_BYTES} bytes in hex")
        self._meaning = bytes.fromhex(self.meaning)
        self._link = ShareLink(keys)
        self.url = self._link.url
        """The address at which others listen."""
        self._overhead = header_bytes(peer)
        self._sequence = 0
        self._sequences = Sequences()
        self._complaints: set[str] = set()
        self._depth = ShareDepth(shallowest)
        self._budget = TokenBucket()
        self._histories = HistoryRounds(engine)
        self._bytes_per_s = 0
        self._written = 0
        self._judged = self._refilled = self._marked = self._began = time.monotonic()
        self._traffic = Traffic()
        self._active_s = 0.0
        """The active time over which that was counted."""
        self._searching = False
        self._order: Peers | None = None
        """The newest order not yet carried out."""
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name=f"sharing-{peer}", daemon=True)
        self._thread.start()

    def take(self, order: Peers) -> None:
        """Listen to these nodes from now on, and respect this rate. Rate 0: send nothing."""
        self._order = order
        self._link.wake()

    def wake(self) -> None:
        """A search begins."""
        self._link.wake()

    def close(self) -> None:
        """End sharing. The engine is not used afterwards. Idempotent."""
        self._closing = True
        self._link.wake()
        self._thread.join()

    def _loop(self) -> None:
        show_name("sharing")
        try:
            while not self._closing:
                try:
                    self._round()
                except Exception:
                    # Sharing is optional: the node keeps searching without it.
                    _log.exception("%s: sharing failed and is off", self._peer)
                    return
        finally:
            self._engine.share(None)
            self._engine.share_histories(False)
            self._link.close()

    def _round(self) -> None:
        if not self._busy() or not self._bytes_per_s:
            if self._searching:
                self._searching = False
                self._exchange()
                self._tell()
            self._link.wait(None, or_batch=True)
            self._judged = self._refilled = self._marked = self._began = time.monotonic()
            self._written = 0  # from the previous search: not part of this one's rate
        self._searching = self._busy()
        # Also if only other nodes search, to avoid a round for each of their batches.
        self._link.wait(min(_LATEST_S, max(_SOONEST_S, (time.monotonic() - self._began) * _PART)))
        if self._order is not None:
            self._heed()
        self._exchange()
        now = time.monotonic()
        self._active_s, self._marked = self._active_s + now - self._marked, now
        if self._active_s >= _REPORT_S:
            self._tell()

    def _heed(self) -> None:
        order, self._order = self._order, None
        if order is not None:
            self._bytes_per_s = order.bytes_per_s
            self._link.admit(order.listeners)
            self._link.listen_to(Source(*each) for each in zip(order.names, order.urls, order.keys, strict=True))
            # It copies the tables, which the first round of a search should not have to do.
            self._engine.share_histories(order.bytes_per_s > 0)

    def _exchange(self) -> None:
        self._receive()
        listeners = self._link.count_listeners()
        limit = self._bytes_per_s / listeners if listeners else 0.0
        now = time.monotonic()
        changes = self._histories.exchange(now, self._began, limit * _HISTORIES)
        if limit:
            self._send(self._engine.take_entries(), changes, listeners, limit * (1 - _HISTORIES))
        else:
            self._engine.share(None)

    def _receive(self) -> None:
        """Take over the others' entries, and hear their changes of histories."""
        traffic, found, hints = self._traffic, list[Entries](), list[Entries]()
        for node_id, data in self._link.receive():
            traffic.bytes_in += len(data)
            try:
                batch = decode_batch(data, self._meaning, node_id)
            except BatchError as error:
                traffic.refused += 1
                self._complain(str(error))
                continue
            traffic.lost += self._sequences.lost(batch)
            traffic.entries_in += len(batch.entries)
            if batch.moves_only:
                hints.append(batch.entries)
            else:
                found.append(batch.entries)
                self._histories.hear(batch.changes)
                traffic.changes_in += len(batch.changes.places)
        if found:
            traffic.used += self._engine.absorb_entries(np.concatenate(found))
        if hints:
            traffic.used += self._engine.absorb_moves(np.concatenate(hints))

    def _send(self, entries: Entries, changes: HistoryChanges, listeners: int, limit: float) -> None:
        """Send to each listener. ``limit``: bytes of entries a second."""
        now = time.monotonic()
        self._budget.refill(now - self._refilled, limit)
        self._refilled = now
        if len(entries):
            self._written += self._overhead + entries.nbytes
            most = self._budget.room(ENTRY_BYTES, self._overhead)
            self._traffic.dropped += max(0, len(entries) - most)
            entries = thinned(entries, most)
        if len(entries) or len(changes.places):
            batch = encode_batch(self._peer, self._meaning, self._sequence, entries, changes)
            self._sequence += 1
            self._link.publish(batch)
            self._budget.spend(len(batch) - CHANGE_BYTES * len(changes.places))
            self._traffic.entries_out += len(entries)
            self._traffic.changes_out += len(changes.places)
            self._traffic.bytes_out += len(batch) * listeners
        if now - self._judged >= _JUDGE_S:
            self._depth.observe(self._written, now - self._judged, limit)
            self._judged, self._written = now, 0
        self._engine.share(self._depth.depth)

    def _tell(self) -> None:
        """Report the traffic since the last report, if there was any."""
        traffic, self._traffic = self._traffic, Traffic()
        time_ms, self._active_s = round(self._active_s * 1000), 0.0
        if traffic:
            node_id = self._peer.rpartition("/")[0]
            self._report(Shared(node_id, time_ms=time_ms, min_depth=self._depth.depth, **asdict(traffic)))

    def _complain(self, why: str) -> None:
        """Log a reason once."""
        if why not in self._complaints and len(self._complaints) < _MOST_COMPLAINTS:
            self._complaints.add(why)
            _log.warning("%s: refused: %s", self._peer, why)
