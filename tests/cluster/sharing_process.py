"""A node's part in sharing in a process of its own, over a table that is a dictionary: for the tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt
import zmq

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers, Shared
from cluster.sharing.node import TableSharing
from worker.engine import Entries

MEANING = "0123456789abcdef" * 2


class DictTable:
    """A `worker.engine.SharesTable` to look into."""

    def __init__(self, meaning: str = MEANING) -> None:
        self.known: dict[int, int] = {}
        self.min_depth: int | None = None
        self._meaning = meaning
        self._waiting: list[Entries] = []
        self._lock = threading.Lock()

    def put(self, entries: Entries) -> None:
        """As if a search had written them."""
        with self._lock:
            self._waiting.append(entries)

    def entries_meaning(self) -> str:
        return self._meaning

    def share(self, min_depth: int | None) -> None:
        self.min_depth = min_depth

    def take_entries(self) -> Entries:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return np.concatenate([np.empty((0, 2), np.uint64), *taken])

    def absorb_entries(self, entries: npt.NDArray[Any]) -> int:
        new = [(int(key), int(word)) for key, word in entries if int(key) not in self.known]
        self.known.update(new)
        return len(new)

    def absorb_moves(self, entries: Entries) -> int:
        """A move is known as a word below 0."""
        return self.absorb_entries(np.stack((entries[:, 0].astype(np.int64), -entries[:, 1].astype(np.int64)), axis=1))


def _serve(connection: Connection, name: str, keys: ChannelAddress, meaning: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    table, reports, searching = DictTable(meaning), list[Shared](), threading.Event()
    sharing = TableSharing(f"{name}/x", table, keys, 2, searching.is_set, reports.append)
    connection.send(sharing.url)
    with suppress(EOFError):
        while True:
            command, value = connection.recv()
            answer: Any = None
            if command == "peers":
                sharing.take(value)
            elif command == "search":
                searching.set()
                sharing.wake()
            elif command == "stop":
                searching.clear()
            elif command == "put":
                table.put(value)
            elif command == "known":
                answer = dict(table.known)
            elif command == "depth":
                answer = table.min_depth
            elif command == "reports":
                answer = list(reports)
            connection.send(answer)
    sharing.close()


class SharingProcess:
    """Use `call`; `close` when done."""

    def __init__(self, name: str, fleet: list[SharingProcess], meaning: str = MEANING, called: str = "") -> None:
        """It joins the fleet. ``called``: what it says that it is, in the place of its name."""
        keys = ChannelAddress("tcp://127.0.0.1:9", b"unused", *zmq.curve_keypair())
        self.key = keys.client_public.decode()
        self._fleet = fleet
        fleet.append(self)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, called or name, keys, meaning), daemon=True)
        self._process.start()
        theirs.close()
        self.name = name
        self.url: str = ""

    def opened(self) -> SharingProcess:
        """Wait until it listens."""
        self.url = self._connection.recv()
        return self

    def call(self, command: str, value: object = None) -> Any:
        self._connection.send((command, value))
        return self._connection.recv()

    def hear(self, *others: SharingProcess, bytes_per_s: int = 10_000_000) -> None:
        """Listen to these, and let whoever belongs to the fleet listen."""
        self.call(
            "peers",
            Peers(
                urls=tuple(other.url for other in others),
                names=tuple(other.name for other in others),
                keys=tuple(other.key for other in others),
                listeners=tuple(other.key for other in self._fleet),
                bytes_per_s=bytes_per_s,
            ),
        )

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        self._connection.close()
        self._process.join(5)
        self._process.kill()


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Wait for what other processes do."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
