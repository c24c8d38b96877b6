"""The cost and the traffic of sharing tables and histories, between real node processes on this machine.

    python -m benchmarks.sharing depths  [--seconds 2]               # bytes a second by least depth
    python -m benchmarks.sharing latency [--nodes 2] [--seconds 5]   # from a store to the other's table
    python -m benchmarks.sharing cost    [--nodes 2] [--seconds 2] [--rounds 5]

``cost`` searches each position alternately with sharing off and on; nodes are counted by the CPU time of the search
thread, so that other load on the machine does not count. All figures are medians over rounds and positions.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import zmq

from cluster.network.channel import ChannelAddress
from cluster.network.messages import Peers, Shared
from cluster.sharing.node import TableSharing
from cluster.sharing.table import ENTRY_BYTES
from worker.engine import Entries, Limits
from worker.search.bench import POSITIONS
from worker.search.engine import NumbaEngine
from worker.warm import warm_up

STAMP = np.uint64(0x5357_414D_0000_0000)
"""High half of the keys of entries that carry their time of storing instead of data."""
HIGH = np.uint64(0xFFFF_FFFF_0000_0000)

Nodes = Annotated[int, typer.Option(min=2, help="Node processes.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Length of each search.")]
Rate = Annotated[int, typer.Option(help="Bytes a second that a node may send to all others together.")]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one search for one node."""

    nodes: int
    wall_s: float
    search_s: float
    """CPU time of the search thread."""
    sharing_s: float
    """CPU time of the sharing thread."""
    sockets_s: float
    """CPU time of ZeroMQ's own threads."""
    shared: tuple[Shared, ...]


class StampedTable:
    """The table of an engine; which adds entries with their time of storing."""

    def __init__(self, engine: NumbaEngine) -> None:
        self._engine = engine
        self._stamps: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self.delays: list[float] = []
        self.entries_meaning = engine.entries_meaning
        self.share, self.absorb_moves = engine.share, engine.absorb_moves
        self.share_histories, self.take_changes = engine.share_histories, engine.take_changes
        self.absorb_changes = engine.absorb_changes

    def stamp(self, number: int) -> None:
        with self._lock:
            self._stamps.append((int(STAMP) + number, time.monotonic_ns()))

    def take_entries(self) -> Entries:
        with self._lock:
            stamps, self._stamps = self._stamps, []
        return np.concatenate([self._engine.take_entries(), np.array(stamps, np.uint64).reshape(-1, 2)])

    def absorb_entries(self, entries: Entries) -> int:
        used = self._engine.absorb_entries(entries)
        now = time.monotonic_ns()
        stamped = entries[(entries[:, 0] & HIGH) == STAMP]
        self.delays.extend((now - int(word)) / 1e6 for word in stamped[:, 1])
        return used


def cpu_s(thread: int) -> float:
    """CPU time of a thread of this process."""
    return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def socket_threads() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(task.name) for task in tasks if (task / "comm").read_text().startswith("ZMQ")]


def serve(connection: Connection, name: str, keys: ChannelAddress) -> None:
    """Run a node process."""
    engine = NumbaEngine(hash_mb=64)
    table, busy, reports = StampedTable(engine), threading.Event(), list[Shared]()
    sharing = TableSharing(f"{name}/x", table, keys, 2, busy.is_set, reports.append)
    sharing_thread = next(t.native_id for t in threading.enumerate() if t.name.startswith("sharing"))
    assert sharing_thread is not None
    connection.send(sharing.url)

    def search(sfen: str, seconds: float, stamps: bool) -> Cost:
        engine.new_game()
        engine.set_position(sfen)
        reports.clear()
        own, others = threading.get_native_id(), socket_threads()
        before = cpu_s(own), cpu_s(sharing_thread), sum(map(cpu_s, others))
        began = time.monotonic()
        busy.set()
        sharing.wake()
        ended = threading.Event()

        def put_stamps() -> None:
            for number in itertools.count():
                if ended.wait(0.002):
                    return
                table.stamp(number)

        if stamps:
            threading.Thread(target=put_stamps).start()
        # Only `stop` ends it, so that no mate search takes CPU time beside it.
        threading.Timer(seconds, engine.stop).start()
        result = engine.go(Limits(depth=100))
        ended.set()
        wall = time.monotonic() - began
        after = cpu_s(own), cpu_s(sharing_thread), sum(map(cpu_s, others))
        busy.clear()
        time.sleep(0.1)
        spent = [b - a for a, b in zip(before, after, strict=True)]
        return Cost(result.nodes, wall, spent[0], spent[1], spent[2], tuple(reports))

    commands: dict[str, Callable[..., Any]] = {
        "peers": sharing.take,
        "search": search,
        "delays": lambda: table.delays,
    }
    while True:
        command, arguments = connection.recv()
        if command == "end":
            break
        connection.send(commands[command](*arguments))
    sharing.close()


class Fleet:
    """Node processes; sharing between them is switched on and off."""

    def __init__(self, count: int) -> None:
        keys = [ChannelAddress("tcp://127.0.0.1:9", b"", *zmq.curve_keypair()) for _ in range(count)]
        self._keys = tuple(each.client_public.decode() for each in keys)
        context = multiprocessing.get_context("spawn")
        self._connections: list[Connection] = []
        for number in range(count):
            own, theirs = context.Pipe()
            context.Process(target=serve, args=(theirs, f"n{number}", keys[number]), daemon=True).start()
            self._connections.append(own)
        self._urls: list[str] = [connection.recv() for connection in self._connections]

    def listen(self, on: bool, bytes_per_s: int) -> None:
        for number, connection in enumerate(self._connections):
            others = [i for i in range(len(self._urls)) if i != number and on]
            peers = Peers(
                urls=tuple(self._urls[i] for i in others),
                names=tuple(f"n{i}" for i in others),
                keys=tuple(self._keys[i] for i in others),
                listeners=tuple(self._keys[i] for i in others),
                bytes_per_s=bytes_per_s if on else 0,
            )
            connection.send(("peers", (peers,)))
        for connection in self._connections:
            connection.recv()
        time.sleep(0.5)

    def search(self, sfen: str, seconds: float, stamps: bool = False) -> list[Cost]:
        return self._all("search", sfen, seconds, stamps)

    def delays(self) -> list[float]:
        return [delay for delays in self._all("delays") for delay in delays]

    def close(self) -> None:
        for connection in self._connections:
            connection.send(("end", ()))

    def _all(self, command: str, *arguments: object) -> list[Any]:
        for connection in self._connections:
            connection.send((command, arguments))
        return [connection.recv() for connection in self._connections]


app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def depths(seconds: Seconds = 2.0) -> None:
    """Measure the entries that one search thread writes in a second of its CPU time, by least depth."""
    engine = NumbaEngine(hash_mb=64)
    engine.share(0)
    found: dict[int, list[float]] = {}
    for sfen in POSITIONS:
        engine.new_game()
        engine.set_position(sfen)
        engine.take_entries()
        counts: Counter[int] = Counter()
        over = threading.Event()

        def collect(counts: Counter[int] = counts, over: threading.Event = over) -> None:
            while not over.wait(0.005):
                counts.update((engine.take_entries()[:, 1] >> np.uint64(48) & np.uint64(127)).tolist())

        collector = threading.Thread(target=collect)
        collector.start()
        threading.Timer(seconds, engine.stop).start()
        began = time.thread_time()
        nodes = engine.go(Limits(depth=100)).nodes
        spent = time.thread_time() - began
        over.set()
        collector.join()
        print(f"{nodes / spent:12,.0f} nodes/s of CPU   {sfen}")
        for depth in range(13):
            written = sum(count for at, count in counts.items() if at >= depth)
            found.setdefault(depth, []).append(written / spent)
    print("from depth   entries/s      bytes/s   (medians)")
    for depth, rates in found.items():
        rate = statistics.median(rates)
        print(f"{depth:10}  {rate:10,.0f}   {rate * ENTRY_BYTES:10,.0f}")
    random = np.random.default_rng(1)
    spans: list[float] = []
    for _ in range(200):
        # The entries that 15 nodes write in 5 ms, spread over the table like real keys.
        entries = random.integers(0, 1 << 63, (2000, 2), np.uint64)
        began = time.thread_time()
        engine.absorb_entries(entries)
        spans.append(time.thread_time() - began)
    print(f"to take in one entry: {statistics.median(spans) / 2000 * 1e9:.0f} ns of CPU")


@app.command()
def latency(nodes: Nodes = 2, seconds: Seconds = 5.0, rate: Rate = 8_000_000) -> None:
    """Measure the time from a store on one node to the same entry in another's table, while all search."""
    fleet = Fleet(nodes)
    fleet.listen(True, rate)
    fleet.search(POSITIONS[0], seconds, stamps=True)
    delays = sorted(fleet.delays())
    fleet.close()
    for share in (0.5, 0.9, 0.99):
        print(f"p{share * 100:.0f}  {delays[int(len(delays) * share)]:7.2f} ms")
    print(f"n {len(delays)}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


@app.command()
def cost(nodes: Nodes = 2, seconds: Seconds = 2.0, rounds: int = 5, rate: Rate = 8_000_000) -> None:
    """Measure the nodes that the search loses and the CPU time that sharing takes, with sharing off and on in turns."""
    fleet = Fleet(nodes)
    found: dict[bool, list[Cost]] = {False: [], True: []}
    ratios: list[float] = []
    for number, sfen in itertools.product(range(rounds), POSITIONS):
        speed: dict[bool, float] = {}
        for on in (False, True) if number % 2 else (True, False):
            fleet.listen(on, rate)
            costs = fleet.search(sfen, seconds)
            found[on] += costs
            speed[on] = statistics.median(cost.nodes / cost.search_s for cost in costs)
        ratios.append(speed[True] / speed[False])
    fleet.close()

    def middle(on: bool, of: Callable[[Cost], float]) -> float:
        return statistics.median(map(of, found[on]))

    for on in (False, True):
        print(
            f"sharing {'on ' if on else 'off'}: {middle(on, lambda c: c.nodes / c.search_s):10,.0f} nodes/s of CPU,"
            f" of a core: sharing thread {middle(on, lambda c: c.sharing_s / c.wall_s):.2%},"
            f" sockets {middle(on, lambda c: c.sockets_s / c.wall_s):.2%}"
        )
    print(
        f"nodes/s on over off, same position: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    )
    said = [shared for each in found[True] for shared in each.shared if shared.time_ms]
    for name, of in (
        ("bytes/s out", lambda s: s.bytes_out * 1000 / s.time_ms),
        ("bytes/s in", lambda s: s.bytes_in * 1000 / s.time_ms),
        ("entries/s in", lambda s: s.entries_in * 1000 / s.time_ms),
        ("changes/s in", lambda s: s.changes_in * 1000 / s.time_ms),
        ("used share", lambda s: s.used / max(1, s.entries_in)),
        ("from depth", lambda s: s.min_depth),
        ("batches lost", lambda s: s.lost),
        ("entries dropped", lambda s: s.dropped),
    ):
        values = sorted(map(of, said))
        print(f"{name:16} {statistics.median(values):12,.3f}   ({values[0]:,.3f} to {values[-1]:,.3f})")
    print(f"{nodes} nodes, {len(ratios)} pairs of searches, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    warm_up()
    app()
