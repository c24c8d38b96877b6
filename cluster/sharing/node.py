"""The thread by which a node takes part in sharing: every few milliseconds of a search it sends and takes entries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

import numpy as np

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers, Shared
from cluster.sharing.link import ShareLink, Source
from cluster.sharing.table import (
    MEANING_BYTES,
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
from worker.engine import Entries, SharesTable
from worker.threads import show_name

_log = logging.getLogger(__name__)

_SOONEST_S: Final = 0.03
_LATEST_S: Final = 0.06
"""Seconds between two rounds, at first and later. A round takes 0.7 to 0.9 ms of the node's core."""
_PART: Final = 1 / 8
"""Between the two: this part of the time since the search began. A short search shares often enough, and a long one
spends less on it."""
_JUDGE_S: Final = 0.1
"""Seconds between two checks of the depth."""
_REPORT_S: Final = 5.0
"""Seconds between two reports of a long search about what was shared; its end always reports."""
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
        keys: this node's own.
        busy: whether a search runs; asked from the sharing thread, every few ms while it says yes.
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
        self._bytes_per_s = 0
        self._written = 0
        self._judged = self._refilled = self._marked = self._began = time.monotonic()
        self._traffic = Traffic()
        self._active_s = 0.0
        """The time over which that was counted, rests left out."""
        self._searching = False
        self._order: Peers | None = None
        """The newest that was not yet heeded."""
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name=f"sharing-{peer}", daemon=True)
        self._thread.start()

    def take(self, order: Peers) -> None:
        """Listen to these nodes from now on, and keep to this rate. A rate of 0: send nothing."""
        self._order = order
        self._link.wake()

    def wake(self) -> None:
        """A search begins."""
        self._link.wake()

    def close(self) -> None:
        """End it. The engine is not touched afterwards. More than once does no harm."""
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
                    # Sharing is a help: the node searches on without it.
                    _log.exception("%s: sharing failed and is off", self._peer)
                    return
        finally:
            self._engine.share(None)
            self._link.close()

    def _round(self) -> None:
        if not self._busy() or not self._bytes_per_s:
            if self._searching:
                self._searching = False
                self._exchange()
                self._tell()
            self._link.wait(None, or_batch=True)
            self._judged = self._refilled = self._marked = self._began = time.monotonic()
            self._written = 0  # by the search before: no part of this one's rate
        self._searching = self._busy()
        # Also where only others search: not a round for each of their batches.
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

    def _exchange(self) -> None:
        self._receive()
        listeners = self._link.count_listeners()
        if not listeners or not self._bytes_per_s:
            self._engine.share(None)
            return
        self._send(self._engine.take_entries(), listeners)

    def _receive(self) -> None:
        traffic, found = self._traffic, list[Entries]()
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
            found.append(batch.entries)
        if found:
            traffic.used += self._engine.absorb_entries(np.concatenate(found))

    def _send(self, entries: Entries, listeners: int) -> None:
        limit = self._bytes_per_s / listeners
        now = time.monotonic()
        self._budget.refill(now - self._refilled, limit)
        self._refilled = now
        if len(entries):
            self._written += self._overhead + entries.nbytes
            most = self._budget.entries(self._overhead)
            self._traffic.dropped += max(0, len(entries) - most)
            entries = thinned(entries, most)
        if len(entries):
            batch = encode_batch(self._peer, self._meaning, self._sequence, entries)
            self._sequence += 1
            self._link.publish(batch)
            self._budget.spend(len(batch))
            self._traffic.entries_out += len(entries)
            self._traffic.bytes_out += len(batch) * listeners
        if now - self._judged >= _JUDGE_S:
            self._depth.observe(self._written, now - self._judged, limit)
            self._judged, self._written = now, 0
        self._engine.share(self._depth.depth)

    def _tell(self) -> None:
        """Report what was shared since the last report, where anything was."""
        traffic, self._traffic = self._traffic, Traffic()
        time_ms, self._active_s = round(self._active_s * 1000), 0.0
        if traffic:
            node_id = self._peer.rpartition("/")[0]
            self._report(Shared(node_id, time_ms=time_ms, min_depth=self._depth.depth, **asdict(traffic)))

    def _complain(self, why: str) -> None:
        """Once for each reason."""
        if why not in self._complaints and len(self._complaints) < _MOST_COMPLAINTS:
            self._complaints.add(why)
            _log.warning("%s: refused: %s", self._peer, why)
