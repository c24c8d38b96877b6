"""Nodes that share tables, each of which is a dictionary, for the tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import zmq

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers, Shared
from cluster.sharing.node import TableSharing
from worker.engine import Entries, HistoryChanges

MEANING = "0123456789abcdef" * 2


class DictTable:
    """A `worker.engine.SharesTable` with a readable content."""

    def __init__(self, meaning: str = MEANING) -> None:
        self.known: dict[int, int] = {}
        self.min_depth: int | None = None
        self._meaning = meaning
        self._waiting: list[Entries] = []
        self.values: dict[int, int] = {}
        """Values of histories that others told."""
        self._changed: list[HistoryChanges] = []
        self._notes = False
        self.lock = threading.Lock()
        """While a test holds it, the node stands still."""

    def put(self, entries: Entries) -> None:
        """Store them as a search would."""
        with self.lock:
            self._waiting.append(entries)

    def change(self, places: npt.NDArray[Any], value: int) -> None:
        """Change values of histories as a search would."""
        with self.lock:
            self._changed.append(HistoryChanges(places.astype(np.uint32), np.full(len(places), value, np.int16)))

    def entries_meaning(self) -> str:
        return self._meaning

    def share(self, min_depth: int | None) -> None:
        self.min_depth = min_depth

    def take_entries(self) -> Entries:
        with self.lock:
            taken, self._waiting = self._waiting, []
        return np.concatenate([np.empty((0, 2), np.uint64), *taken])

    def absorb_entries(self, entries: npt.NDArray[Any]) -> int:
        new = [(int(key), int(word)) for key, word in entries if int(key) not in self.known]
        self.known.update(new)
        return len(new)

    def absorb_moves(self, entries: Entries) -> int:
        """A word below 0 stands for a move."""
        return self.absorb_entries(np.stack((entries[:, 0].astype(np.int64), -entries[:, 1].astype(np.int64)), axis=1))

    def share_histories(self, wanted: bool) -> None:
        self._notes = wanted

    def take_changes(self, most: int) -> HistoryChanges:
        with self.lock:
            changed, self._changed = self._changed, []
        places = np.concatenate([np.empty(0, np.uint32), *(each.places for each in changed)])
        values = np.concatenate([np.empty(0, np.int16), *(each.values for each in changed)])
        return HistoryChanges(places[:most], values[:most])

    def absorb_changes(self, heard: Sequence[HistoryChanges]) -> None:
        if self._notes:
            for each in heard:
                self.values.update(zip(each.places.tolist(), each.values.tolist(), strict=True))


class Sharer:
    """One node that joins the fleet. ``called``: the name that it claims, instead of its own."""

    def __init__(self, name: str, fleet: list[Sharer], meaning: str = MEANING, called: str = "") -> None:
        keys = ChannelAddress("tcp://127.0.0.1:9", b"unused", *zmq.curve_keypair())
        self.name = name
        self.key = keys.client_public.decode()
        self.table = DictTable(meaning)
        self.reports: list[Shared] = []
        self._fleet = fleet
        fleet.append(self)
        self._searching = threading.Event()
        peer = f"{called or name}/x"
        self.sharing = TableSharing(peer, self.table, keys, 2, self._searching.is_set, self.reports.append)
        self.url = self.sharing.url

    def search(self) -> None:
        self._searching.set()
        self.sharing.wake()

    def stop(self) -> None:
        self._searching.clear()

    def hear(self, *others: Sharer, bytes_per_s: int = 10_000_000) -> None:
        """Listen to these, and let every member of the fleet listen."""
        names, urls, keys = ([getattr(other, part) for other in others] for part in ("name", "url", "key"))
        listeners = tuple(other.key for other in self._fleet)
        self.sharing.take(Peers(tuple(urls), tuple(names), tuple(keys), listeners, bytes_per_s))

    def close(self) -> None:
        self.sharing.close()
