"""A master in a process of its own, for the tests that end it by a signal: opens a fleet, searches, waits.

Prints every process that it started, those that search, and the fork server. Ends by Ctrl-C or SIGTERM as a master
should.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess

from cluster.api import SearchRequest
from cluster.drivers.fleet_driver import FleetSearcher
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from worker.shogi import STARTPOS


def descendants(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]
    family = [pid]
    for parent in family:
        family += [child for child, its in pairs if its == parent]
    return family[1:]


async def main() -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    searcher, heard = FleetSearcher(engine=endless_engine, fallback=endless_engine), Heard()
    await searcher.open(heard.listener())
    try:
        searcher.start(SearchRequest(1, STARTPOS))
        await heard.until(lambda: any(progress.depth > 3 for progress in heard.progress))
        await heard.until(lambda: len(searcher.live) == 3, 60)
        print("started", *descendants(os.getpid()))
        print("searching", *(fields["pid"] for fields in heard.named("node_ready")))
        assert searcher._fork_server is not None
        print("fork_server", searcher._fork_server.pid, flush=True)
        await stopped.wait()
    finally:
        await searcher.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
