"""Shows logs, records and the fleets of this machine: the live page of a process that plays nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from cluster.machine.status import masters
from master.live.asking import Asker
from master.live.facts import Fact
from master.live.page import Site
from master.live.server import Hub, address_of, listen, make_app, make_server
from master.live.sources import LogReader
from master.logs.files import NotTextError, newest_log
from worker.files import described

EVERY_S: Final = 0.5
"""Seconds between two checks of a growing log, and of the fleets."""


class Watch:
    """Everything that can be watched on this machine. Its methods read the disk, so they are called in a thread, one at
    a time.

    Args:
        log: a log; or a folder, whose newest log is followed together with this machine's fleets; the folder need not
            exist yet. None: show only ``facts``.
        facts: shown from the beginning.
    """

    def __init__(self, log: Path | None, facts: list[Fact]) -> None:
        self._folder = log if log is not None and (log.is_dir() or not log.exists()) else None
        self._reader = None if log is None or self._folder is not None else LogReader(log)
        self._first = facts
        self._sizes: tuple[object, ...] = ()
        self._fleets: list[dict[str, Any]] = []

    def poll(self) -> list[Fact]:
        """Read new lines.

        Raises:
            OSError, NotTextError: a log cannot be read.
        """
        facts, self._first = self._first, []
        if self._folder is not None:
            newest = newest_log(self._folder)
            if newest is not None and not self.more and (self._reader is None or newest != self._reader.path):
                self._reader = LogReader(newest)
                self._sizes = ()
            facts += self._look_at_fleets()
        if self._reader is not None:
            sizes = _sizes(self._reader.path)
            if sizes != self._sizes or self._reader.more:
                self._sizes = sizes
                facts += self._reader.poll()
        return facts

    @property
    def more(self) -> bool:
        """Whether the log has more lines already."""
        return self._reader is not None and self._reader.more

    @property
    def trouble(self) -> str:
        """The line of the log that could not be read, in words."""
        return "" if self._reader is None else self._reader.trouble

    def _look_at_fleets(self) -> list[Fact]:
        with contextlib.suppress(OSError):
            before, self._fleets = self._fleets, masters()
            if before or self._fleets:
                return [{"fact": "status", "at": time.time(), "masters": self._fleets}]
        return []


async def show(
    watch: Watch,
    place: tuple[str, int],
    token: str,
    head: dict[str, Any],
    on_ready: Callable[[str], None],
    warn: Callable[[str], None],
    asker: Asker | None = None,
) -> None:
    """Serve the page until the process gets a signal to end, or this is cancelled.

    Args:
        asker: answers readers; it is closed at the end.

    Raises:
        OSError: it cannot listen there.
    """
    site = Site(head)
    hub = Hub(site)
    host, port = place
    sock = listen(host, port)
    server = make_server(make_app(hub, token, asker), hub)
    follower = asyncio.create_task(_follow(watch, site, hub, warn))
    on_ready(address_of(sock, host, token))
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
    finally:
        follower.cancel()
        if asker is not None:
            await asyncio.to_thread(asker.close)


async def _follow(watch: Watch, site: Site, hub: Hub, warn: Callable[[str], None]) -> None:
    told = ""
    while True:
        trouble = ""
        try:
            facts = await asyncio.to_thread(watch.poll)
            trouble = watch.trouble
        except (OSError, NotTextError) as error:
            facts, trouble = [], described(error)
        if trouble and trouble != told:
            told = trouble
            warn(trouble)
        for fact in facts:
            site.take(fact)
        if facts:
            hub.changed()
        await asyncio.sleep(0 if watch.more else EVERY_S)


def _sizes(path: Path) -> tuple[object, ...]:
    """Changes when the log does."""
    try:
        found = path.stat()
    except OSError:
        return (None,)
    return found.st_size, found.st_mtime_ns, found.st_ino
