"""The cost of the live page's viewers for the game: the master's delay in handling reports, with and without slow ones.

A simulated fleet reports on an event loop, as the channel does: every ``--every`` ms the progress of ``--nodes`` nodes.
The listener has the page's feed, as in `gougi play`; the page runs in its own process. The latency is the time by which
a report is handled too late. The arms take turns, round after round, so that other load on the machine is in all:

    none      no page at all
    page      the page, without a viewer
    viewers   the page with ``--viewers`` that read at once
    slow      the page with as many that read nothing

``python -m benchmarks.live_viewers [--viewers 50] [--rounds 5] [--seconds 10]``
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from urllib.parse import urlsplit

from cluster.api import Answer, Ballot, Decision, NodeView, Progress
from cluster.split.tree import TreeLine
from master.csa.summary import GameSummary
from master.live.feed import Feed, PageSettings
from master.player.events import Clocks, GameBegan, ThinkingBegan
from worker.clock.timecontrol import TimeControl
from worker.engine import Bound
from worker.shogi import STARTPOS

ARMS = ("none", "page", "viewers", "slow")
PV = ("7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b")
TIME = TimeControl(total_ms=300_000)
CLOCKS = Clocks((300_000, 300_000), 0)


def fleet(nodes: int, depth: int) -> tuple[NodeView, ...]:
    return tuple(
        NodeView(f"node-{number}", True, "all", depth, 30, depth * 100_000 + number, 600_000, PV, depth + 5, 100)
        for number in range(1, nodes + 1)
    )


@contextlib.contextmanager
def page() -> Iterator[tuple[Feed, str]]:
    urls: SimpleQueue[str] = SimpleQueue()
    feed = Feed(PageSettings(head={"command": "benchmark", "version": ""}), urls.put, print)
    feed.start()
    try:
        yield feed, urls.get(timeout=60)
    finally:
        feed.close()


@contextlib.contextmanager
def viewers(url: str, count: int, read: bool) -> Iterator[list[int]]:
    """Open ``count`` streams; those that do not read have the smallest buffer. Counts the bytes that were read."""
    parts = urlsplit(url)
    taken, stop = [0], threading.Event()
    socks = []
    for _ in range(count):
        sock = socket.socket()
        if not read:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((parts.hostname, parts.port))
        sock.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        socks.append(sock)

    def drain() -> None:
        import selectors

        with selectors.DefaultSelector() as selector:
            for sock in socks:
                sock.setblocking(False)
                selector.register(sock, selectors.EVENT_READ)
            while not stop.is_set():
                for key, _ in selector.select(0.2):
                    with contextlib.suppress(OSError):
                        taken[0] += len(key.fileobj.recv(1 << 16))  # type: ignore[union-attr]

    thread = threading.Thread(target=drain, daemon=True)
    if read:
        thread.start()
    try:
        yield taken
    finally:
        stop.set()
        if read:
            thread.join()
        for sock in socks:
            sock.close()


async def game(feed: Feed | None, nodes: int, every_s: float, seconds: float) -> list[float]:
    """Report for ``seconds``; returns by how many milliseconds each report was handled too late."""
    loop = asyncio.get_running_loop()
    late: list[float] = []
    begin = loop.time()
    observe = (lambda _event: None) if feed is None else feed.observe
    observe(GameBegan(GameSummary("b", ("a", "b"), 0, 0, (TIME, TIME), STARTPOS), STARTPOS, CLOCKS))

    def report(number: int, due: float) -> None:
        depth = 10 + number % 20
        lines, views = (TreeLine(depth, 30, Bound.EXACT, PV),), fleet(nodes, depth)
        progress = Progress(search_id=number, move=PV[0], lines=lines, elapsed_ms=100, nodes=number, fleet=views)
        if number % 50 == 0:
            ballots = tuple(Ballot(f"node-{voter}", lines[0]) for voter in range(nodes))
            answer = Answer(move=PV[0], lines=lines, source="vote", ballots=ballots)
            observe(Decision.of(answer, search_id=number, elapsed_ms=1000, nodes=1, fleet=views))
            observe(ThinkingBegan(number, number // 50, 1000, 2000, CLOCKS))
        observe(progress)
        late.append((loop.time() - due) * 1000)

    number = 0
    while (due := begin + number * every_s) < begin + seconds:
        loop.call_at(due, report, number, due)
        number += 1
    await asyncio.sleep(begin + seconds + 0.2 - loop.time())
    return late


def measure(arm: str, given: argparse.Namespace) -> list[float]:
    with contextlib.ExitStack() as stack:
        feed = None
        if arm != "none":
            feed, url = stack.enter_context(page())
            if arm != "page":
                stack.enter_context(viewers(url, given.viewers, arm == "viewers"))
            time.sleep(1.0)
        return asyncio.run(game(feed, given.nodes, given.every / 1000, given.seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--every", type=float, default=20, help="milliseconds between reports")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    medians: dict[str, list[float]] = {arm: [] for arm in ARMS}
    tails: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for number in range(given.rounds):
        for arm in ARMS[number % len(ARMS) :] + ARMS[: number % len(ARMS)]:
            late = sorted(measure(arm, given))
            medians[arm].append(statistics.median(late))
            tails[arm].append(late[int(len(late) * 0.99)])
            print(
                f"round {number + 1} {arm:8} median {medians[arm][-1]:.3f} ms, 99 % {tails[arm][-1]:.2f} ms", flush=True
            )
    figures = {
        arm: {
            "median_ms": round(statistics.median(medians[arm]), 3),
            "noise_ms": round(statistics.pstdev(medians[arm]), 3),
            "tail_ms": round(statistics.median(tails[arm]), 2),
        }
        for arm in ARMS
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
