"""Sharing of transposition-table entries and histories between nodes: what to send, in which format, to which nodes.
Pure.

Every few milliseconds a searching node sends the entries that it wrote, from some depth on, and the values of its
histories that changed most, to its listeners, and takes over what it receives (Stockfish's MPI cluster sent entries of
depth over 3, with truncated keys; ours are whole). All of it is perishable: what cannot be sent at once is dropped or
waits for a later round, never in a queue, and nothing waits for a peer.

`ShareDepth` keeps the entries within a rate, `TokenBucket` is the hard limit, `encode_batch` and `decode_batch` convert
to and from bytes, `hears` determines which node listens to which. `cluster.sharing.node` has the sockets and the
thread.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.engine import MOVES_MEANING, Entries, HistoryChanges

ENTRY_BYTES: Final = 16
CHANGE_BYTES: Final = 4
"""Bytes of a changed value, but for a few fillers (`_packed`)."""
MOST_ENTRIES: Final = 1 << 15
"""The most entries in one batch, and the most changes of histories: more than the default rate allows in the time
between two batches."""
_MOST_GAP: Final = 0xFFFF
_FILLER: Final = -(1 << 15)
"""The value of a filler; no history has it."""
_MOST_PACKED: Final = MOST_ENTRIES + (1 << 32) // _MOST_GAP + 1
"""The most changes with their fillers."""
DEEPEST: Final = 60

_MAGIC: Final = b"GGE2"
_HEADER: Final = struct.Struct("<4s16sQIIB")
"""Magic and version, meaning of the contents, sequence, numbers of entries and of packed changes, length of the
sender's name."""
MEANING_BYTES: Final = 16
_MOVES_BYTES: Final = MOVES_MEANING // 2
_MOST_NAME: Final = 255
MOST_BATCH_BYTES: Final = _HEADER.size + _MOST_NAME + MOST_ENTRIES * ENTRY_BYTES + _MOST_PACKED * CHANGE_BYTES


class BatchError(ValueError):
    """Bytes from a peer are not a valid batch. The text names the error and its place."""


class ForeignBatch(BatchError):
    """A batch whose entries, and the moves in them, mean something else: another build."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries and changes of histories of one node."""

    peer: str
    """The sender: node and incarnation, as in `cluster.network.messages.Hello.peer`."""
    sequence: int
    """Number of the batch, from 0 for each sender: a gap means lost batches."""
    entries: Entries
    changes: HistoryChanges
    moves_only: bool = False
    """Only the moves in the entries have a meaning here, and the changes have none: the sender has another
    evaluation."""


def header_bytes(peer: str) -> int:
    """Bytes of a batch from ``peer`` in addition to its entries and changes."""
    return _HEADER.size + len(peer.encode())


def encode_batch(peer: str, meaning: bytes, sequence: int, entries: Entries, changes: HistoryChanges) -> bytes:
    """A batch as bytes, little-endian: header, name, key and word of each entry, gap and value of each change.

    Args:
        peer: 1 to 255 bytes of UTF-8.
        meaning: 16 bytes; see `worker.engine.SharesTable.entries_meaning`.
        entries: (n, 2) of uint64, at most `MOST_ENTRIES`.
        changes: at most `MOST_ENTRIES`, places in ascending order, no value `_FILLER`.

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
    if len(changes.places) > MOST_ENTRIES or len(changes.places) != len(changes.values):
        raise ValueError(f"changes: {len(changes.places)} places and {len(changes.values)} values")
    gaps, values = _packed(changes)
    header = _HEADER.pack(_MAGIC, meaning, sequence, len(entries), len(gaps), len(name))
    arrays = entries.astype("<u8", copy=False), gaps.astype("<u2", copy=False), values.astype("<i2", copy=False)
    return b"".join((header, name, *(array.tobytes() for array in arrays)))


def _packed(changes: HistoryChanges) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int16]]:
    """The distance of each place from the one before, the first from 0, and its value. If the distance is too large
    for 16 bits, fillers come before it."""
    distances = np.diff(changes.places.astype(np.int64), prepend=0)
    fillers, rest = np.divmod(distances, _MOST_GAP)
    if not fillers.any():
        return rest.astype(np.uint16), changes.values
    at = np.cumsum(fillers + 1) - 1
    gaps = np.full(at[-1] + 1, _MOST_GAP, np.uint16)
    values = np.full(at[-1] + 1, _FILLER, np.int16)
    gaps[at], values[at] = rest, changes.values
    return gaps, values


def _unpacked(gaps: npt.NDArray[np.uint16], values: npt.NDArray[np.int16]) -> HistoryChanges:
    """The reverse of `_packed`."""
    places = np.cumsum(gaps, dtype=np.int64).astype(np.uint32)
    real = values != _FILLER
    return HistoryChanges(places[real], values[real])


def decode_batch(data: bytes, meaning: bytes, node_id: str) -> Batch:
    """The batch in ``data``, which came from that node, for a table whose entries have this ``meaning``.

    Raises:
        ForeignBatch: nothing in it can be used, but it is well formed.
        BatchError: ``data`` is not a valid batch.
    """
    if len(data) < _HEADER.size:
        raise BatchError(f"batch: {len(data)} bytes, its header alone has {_HEADER.size}")
    magic, its_meaning, sequence, count, changed, name_bytes = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise BatchError(f"batch: begins with {magic!r} instead of {_MAGIC!r}")
    if count > MOST_ENTRIES or changed > _MOST_PACKED:
        raise BatchError(f"batch: {count} entries and {changed} changes: too many")
    start = _HEADER.size + name_bytes
    changes_at = start + count * ENTRY_BYTES
    expected = changes_at + changed * CHANGE_BYTES
    if len(data) != expected:
        raise BatchError(f"batch: {len(data)} bytes, with {count} entries and {changed} changes it has {expected}")
    try:
        peer = data[_HEADER.size : start].decode()
    except UnicodeDecodeError as error:
        raise BatchError(f"batch: the sender's name is no UTF-8 ({error.reason})") from error
    if peer.rpartition("/")[0] != node_id:
        raise BatchError(f"batch of {node_id}: in the name of {peer!r}")
    if its_meaning[:_MOVES_BYTES] != meaning[:_MOVES_BYTES]:
        raise ForeignBatch(f"batch of {peer}: entries of another build")
    words = np.frombuffer(data, "<u8", 2 * count, start).reshape(count, 2).astype(np.uint64, copy=False)
    gaps = np.frombuffer(data, "<u2", changed, changes_at).astype(np.uint16, copy=False)
    values = np.frombuffer(data, "<i2", changed, changes_at + 2 * changed).astype(np.int16, copy=False)
    return Batch(peer, sequence, words, _unpacked(gaps, values), moves_only=its_meaning != meaning)


class ShareDepth:
    """The depth from which on entries are shared, chosen so that they stay within a rate.

    The depth rises at once if too much was written, by a ply for each doubling (each ply halves the amount), and falls
    by one if less than a third of the rate was used for some time. Otherwise it stays.
    """

    _CALM: Final = 5
    _LITTLE: Final = 1 / 3

    def __init__(self, shallowest: int) -> None:
        self._shallowest = shallowest
        self.depth = shallowest
        self._calm = 0

    def observe(self, written: int, seconds: float, limit: float) -> int:
        """The least depth to share from now on.

        Args:
            written: bytes available to send at the current depth, within
            seconds: the time since the last call, about 0.1 s.
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
    """At most ``most`` of the entries, evenly spaced, because the entries of each search thread are contiguous."""
    if len(entries) <= most:
        return entries
    return entries[np.linspace(0, len(entries) - 1, most).astype(np.int64)]


class TokenBucket:
    """A bucket that fills at the rate and holds a quarter of a second; what exceeds its content is not sent."""

    _HOLDS_S: Final = 0.25

    def __init__(self) -> None:
        self._bytes = 0.0

    def refill(self, seconds: float, limit: float) -> None:
        """``limit``: bytes a second."""
        self._bytes = min(self._bytes + seconds * limit, limit * self._HOLDS_S)

    def room(self, item_bytes: int, overhead: int = 0) -> int:
        """The number of items that fit into a batch with ``overhead`` other bytes."""
        return max(0, min(MOST_ENTRIES, int(self._bytes - overhead) // item_bytes))

    def spend(self, sent: int) -> None:
        self._bytes -= sent


@dataclass(slots=True)
class Traffic:
    """Counts of sent and received data since counting began."""

    bytes_out: int = 0
    """Bytes of batches, counted once for each node that listens."""
    entries_out: int = 0
    """Entries sent, counted once however many nodes listen."""
    dropped: int = 0
    """Entries collected but not sent, because the budget was used up."""
    bytes_in: int = 0
    entries_in: int = 0
    changes_out: int = 0
    """Changed values of histories sent, counted once however many nodes listen."""
    changes_in: int = 0
    used: int = 0
    """The part of ``entries_in`` for which the table had no entry of that depth; of mere moves, no entry at all."""
    lost: int = 0
    """Batches from others that did not arrive."""
    refused: int = 0
    """Messages that were not a batch, or a foreign one."""

    def __bool__(self) -> bool:
        return any(getattr(self, entry.name) for entry in fields(self))


class Sequences:
    """Counts lost batches by their numbers."""

    _MOST: Final = 4096

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def lost(self, batch: Batch) -> int:
        """The number of batches from its sender missing before ``batch``; 0 for a sender that is new or has
        restarted."""
        last = self._last.get(batch.peer)
        if last is None and len(self._last) >= self._MOST:
            self._last.clear()
        self._last[batch.peer] = batch.sequence
        return 0 if last is None else max(0, batch.sequence - last - 1)


_NEAR: Final = (-2, -1, 1, 2)


def hears(meanings: Sequence[str], most: int = 16) -> list[tuple[int, ...]]:
    """The nodes to which each node listens, by their indices.

    Nodes with the same meaning hear each other, as `listens_to` has it. A node also hears nodes whose moves alone it
    can use: all of them, if all together are at most ``most``, and otherwise up to four, which then hear it too.

    Args:
        meanings: of each node (`worker.engine.SharesTable.entries_meaning`).
    """
    alike: dict[str, list[int]] = {}
    related: dict[str, list[int]] = {}
    for index, meaning in enumerate(meanings):
        alike.setdefault(meaning, []).append(index)
        related.setdefault(meaning[:MOVES_MEANING], []).append(index)
    place = {index: at for group in alike.values() for at, index in enumerate(group)}
    found: list[tuple[int, ...]] = [()] * len(meanings)
    for family in related.values():
        # The groups take turns in the ring, each as often as it has nodes.
        ring = sorted(family, key=lambda index: (place[index] + 0.5) / len(alike[meanings[index]]))
        for at, index in enumerate(ring):
            group, count = alike[meanings[index]], len(ring)
            if len(group) < count <= most + 1:
                found[index] = tuple(other for other in ring if other != index)
                continue
            near = {ring[(at + step) % count] for step in _NEAR} - set(group)
            own = listens_to(place[index], len(group), most if len(group) == count else most - len(_NEAR))
            found[index] = (*(group[other] for other in own), *sorted(near))
    return found


def listens_to(index: int, count: int, most: int = 16) -> tuple[int, ...]:
    """The nodes to which node ``index`` listens, of ``count`` nodes in a ring.

    All others, if there are at most ``most``. Otherwise ``most`` nodes at distances that grow like powers, from the
    neighbour to the whole ring, as in a hypercube: each node has as many listeners as sources, and any two nodes are a
    few steps apart. Entries are not forwarded: a node that uses one writes, and so sends, its own result.
    """
    if count - 1 <= most:
        return tuple((index + distance) % count for distance in range(1, count))
    ratio = (count - 1) ** (1 / (most - 1))
    distances: list[int] = []
    for step in range(most):
        # Small powers coincide: then take the next free distance.
        distances.append(max(distances[-1] + 1 if distances else 1, round(ratio**step)))
    return tuple((index + distance) % count for distance in distances)
