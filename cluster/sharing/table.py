"""Sharing of transposition-table entries between nodes: what to send, in which form, and to whom. Pure.

A node that searches sends the entries that it wrote, from some depth on, every few milliseconds to the nodes that
listen to it, and takes over what they send (Stockfish's MPI cluster did so with depth over 3 and truncated keys; ours
are whole). Entries are perishable: what cannot go at once is dropped, never queued, and nothing waits for a peer.

`ShareDepth` keeps the stream within a rate, `TokenBucket` is the hard limit behind it, `encode_batch` and
`decode_batch` are the border, `listens_to` says who hears whom. `cluster.sharing.node` has the sockets and the thread.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from worker.engine import Entries

ENTRY_BYTES: Final = 16
MOST_ENTRIES: Final = 1 << 15
"""Entries in one batch, at most: more than the default rate allows in the time between two batches."""
DEEPEST: Final = 60

_MAGIC: Final = b"GGE1"
_HEADER: Final = struct.Struct("<4s16sQIB")
"""Magic and version, meaning of the words, sequence, number of entries, length of the sender's name."""
MEANING_BYTES: Final = 16
_MOST_NAME: Final = 255
MOST_BATCH_BYTES: Final = _HEADER.size + _MOST_NAME + MOST_ENTRIES * ENTRY_BYTES


class BatchError(ValueError):
    """Bytes from a peer are no batch of entries. The text says what is wrong, and where."""


class ForeignBatch(BatchError):
    """A batch whose entries mean something else: another network, other rules or another build."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries of one node."""

    peer: str
    """The sender: node and incarnation, as in `cluster.network.messages.Hello.peer`."""
    sequence: int
    """Counts the sender's batches, from 0: a gap is what was lost."""
    entries: Entries


def header_bytes(peer: str) -> int:
    """Bytes of a batch of ``peer`` beside its entries."""
    return _HEADER.size + len(peer.encode())


def encode_batch(peer: str, meaning: bytes, sequence: int, entries: Entries) -> bytes:
    """A batch as bytes, little-endian: header, name, and key and word of each entry.

    Args:
        peer: 1 to 255 bytes of UTF-8.
        meaning: 16 bytes; only who has the same may use the entries.
        entries: (n, 2) of uint64, at most `MOST_ENTRIES`.

    Raises:
        ValueError: an argument is out of range.
    """
    name = peer.encode()
    if not 1 <= len(name) <= _MOST_NAME:
        raise ValueError(f"peer: {len(name)} bytes, allowed are 1..{_MOST_NAME}")
    if len(meaning) != MEANING_BYTES:
        raise ValueError(f"meaning: {len(meaning)} bytes instead of {MEANING_BYTES}")
    if entries.ndim != 2 or entries.shape[1] != 2 or len(entries) > MOST_ENTRIES:
        raise ValueError(f"entries: shape {entries.shape}, expected (0..{MOST_ENTRIES}, 2)")
    header = _HEADER.pack(_MAGIC, meaning, sequence, len(entries), len(name))
    return header + name + entries.astype("<u8", copy=False).tobytes()


def decode_batch(data: bytes, meaning: bytes, node_id: str) -> Batch:
    """The batch in ``data``, which came from that node, for a table whose words have this ``meaning``.

    Raises:
        ForeignBatch: its words mean something else; the rest is well formed.
        BatchError: ``data`` is none.
    """
    if len(data) < _HEADER.size:
        raise BatchError(f"batch: {len(data)} bytes, its header alone has {_HEADER.size}")
    magic, its_meaning, sequence, count, name_bytes = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise BatchError(f"batch: begins with {magic!r} instead of {_MAGIC!r}")
    if count > MOST_ENTRIES:
        raise BatchError(f"batch: {count} entries, at most {MOST_ENTRIES} are allowed")
    start = _HEADER.size + name_bytes
    expected = start + count * ENTRY_BYTES
    if len(data) != expected:
        raise BatchError(f"batch: {len(data)} bytes, with {count} entries it has {expected}")
    try:
        peer = data[_HEADER.size : start].decode()
    except UnicodeDecodeError as error:
        raise BatchError(f"batch: the sender's name is no UTF-8 ({error.reason})") from error
    if peer.rpartition("/")[0] != node_id:
        raise BatchError(f"batch of {node_id}: in the name of {peer!r}")
    if its_meaning != meaning:
        raise ForeignBatch(f"batch of {peer}: entries of another network, other rules or another build")
    words = np.frombuffer(data, "<u8", offset=start).reshape(count, 2)
    return Batch(peer, sequence, words.astype(np.uint64, copy=False))


class ShareDepth:
    """The depth from which on entries are shared, chosen so that they stay within a rate.

    The depth rises at once where too much was written, by a ply for each doubling (a ply more leaves about half), and
    falls by one when for some time less than a third of the rate was used: between the two it rests.
    """

    _CALM: Final = 5
    _LITTLE: Final = 1 / 3

    def __init__(self, shallowest: int) -> None:
        self._shallowest = shallowest
        self.depth = shallowest
        self._calm = 0

    def observe(self, written: int, seconds: float, limit: float) -> int:
        """The depth to share from now on.

        Args:
            written: bytes that were there to be sent at the present depth, in
            seconds: the time since the last call, some 0.1 s.
            limit: bytes a second, more than 0.
        """
        rate = written / seconds
        if rate > limit:
            self._calm = 0
            self.depth = min(DEEPEST, self.depth + max(1, round(math.log2(rate / limit))))
        elif rate >= limit * self._LITTLE:
            self._calm = 0
        else:
            self._calm += 1
            if self._calm >= self._CALM:
                self._calm = 0
                self.depth = max(self._shallowest, self.depth - 1)
        return self.depth


def thinned(entries: Entries, most: int) -> Entries:
    """Some of the entries, ``most`` at most, evenly: those of each of an engine's threads stand together."""
    if len(entries) <= most:
        return entries
    return entries[np.linspace(0, len(entries) - 1, most).astype(np.int64)]


class TokenBucket:
    """A bucket that fills at the rate and holds a quarter of a second: what does not fit in is not sent."""

    _HOLDS_S: Final = 0.25

    def __init__(self) -> None:
        self._bytes = 0.0

    def refill(self, seconds: float, limit: float) -> None:
        """``limit``: bytes a second."""
        self._bytes = min(self._bytes + seconds * limit, limit * self._HOLDS_S)

    def entries(self, overhead: int) -> int:
        """The number of entries that fit into a batch with ``overhead`` other bytes."""
        return max(0, min(MOST_ENTRIES, int(self._bytes - overhead) // ENTRY_BYTES))

    def spend(self, sent: int) -> None:
        self._bytes -= sent


@dataclass(slots=True)
class Traffic:
    """Counts of what went out and came in since the counting began."""

    bytes_out: int = 0
    """Bytes of batches, counted once for each node that listens."""
    entries_out: int = 0
    """Entries sent, counted once however many nodes listen."""
    dropped: int = 0
    """Entries that were collected and not sent, for want of budget."""
    bytes_in: int = 0
    entries_in: int = 0
    used: int = 0
    """The part of ``entries_in`` of which the table had nothing as deep."""
    lost: int = 0
    """Batches of others that did not arrive."""
    refused: int = 0
    """Messages that were no batch, or a foreign one."""

    def __bool__(self) -> bool:
        return any(getattr(self, entry.name) for entry in fields(self))


class Sequences:
    """Counts by the batches' numbers what was lost."""

    _MOST: Final = 4096

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def lost(self, batch: Batch) -> int:
        """Batches of its sender that are missing before ``batch``; of one that is new, or began anew, none."""
        last = self._last.get(batch.peer)
        if last is None and len(self._last) >= self._MOST:
            self._last.clear()
        self._last[batch.peer] = batch.sequence
        return 0 if last is None else max(0, batch.sequence - last - 1)


def listens_to(index: int, count: int, most: int = 16) -> tuple[int, ...]:
    """The nodes to which node ``index`` listens, of ``count`` nodes in a ring.

    All others up to ``most``. Of more, ``most`` at distances that grow like powers, from the neighbour to the whole
    ring, as in a hypercube: each node is heard by as many as it hears, and from each to each it is a few steps. Entries
    are not passed on as such: who uses one writes, and so sends, what it made of it.
    """
    if count - 1 <= most:
        return tuple((index + distance) % count for distance in range(1, count))
    ratio = (count - 1) ** (1 / (most - 1))
    distances: list[int] = []
    for step in range(most):
        # Powers below 2 come together: then the next that is free.
        distances.append(max(distances[-1] + 1 if distances else 1, round(ratio**step)))
    return tuple((index + distance) % count for distance in distances)
