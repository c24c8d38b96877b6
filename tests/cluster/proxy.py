"""Cables on one machine, for the tests: a TCP proxy before the master's report port. Its links can be cut or slowed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import threading
from pathlib import Path


class Proxy:
    """Forwards every connection to ``port`` of this machine; on a thread of its own, so that nobody holds it up.

    A cut link passes nothing on and loses nothing, as TCP does over a cable that is put back in time.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._links: dict[int, _Link] = {}
        """By the port from which the node connected."""
        self._hold_new = False
        self._loop = asyncio.new_event_loop()
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=listener))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def cut(self, pid: int) -> None:
        """Nothing passes between that process and the master any more."""
        self._set(pid, delay_s=None)

    def slow(self, pid: int, delay_s: float) -> None:
        """Delay everything that the process sends."""
        self._set(pid, delay_s=delay_s)

    def mend(self, pid: int) -> None:
        """As it was; what was held back arrives now."""
        self._set(pid, delay_s=0.0)

    def hold_new(self, hold: bool) -> None:
        """Whether a connection that is made from now on is cut from its beginning."""
        self._loop.call_soon_threadsafe(setattr, self, "_hold_new", hold)

    def knows(self, pid: int) -> bool:
        """Whether that process has a connection."""
        return bool(_ports(pid) & self._links.keys())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _set(self, pid: int, delay_s: float | None) -> None:
        ports = _ports(pid) & self._links.keys()
        assert ports, f"process {pid} has no connection"
        for port in ports:
            self._loop.call_soon_threadsafe(self._links[port].set, delay_s)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        link = self._links[port] = _Link(None if self._hold_new else 0.0)
        with contextlib.suppress(OSError):
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._port)
            done, others = await asyncio.wait(
                [
                    asyncio.ensure_future(link.pump(reader, up_writer, slowed=True)),
                    asyncio.ensure_future(link.pump(up_reader, writer, slowed=False)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in (*done, *others):
                task.cancel()
            up_writer.close()
        writer.close()
        del self._links[port]


class _Link:
    """One connection. ``delay_s`` None: cut."""

    def __init__(self, delay_s: float | None) -> None:
        self._delay_s = delay_s
        self._changed = asyncio.Event()

    def set(self, delay_s: float | None) -> None:
        self._delay_s = delay_s
        self._changed.set()
        self._changed = asyncio.Event()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, slowed: bool) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        passing = asyncio.ensure_future(self._pass_on(waiting, writer, slowed=slowed))
        try:
            while data := await reader.read(1 << 16):
                waiting.put_nowait((asyncio.get_running_loop().time(), data))
        finally:
            passing.cancel()

    async def _pass_on(
        self, waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, *, slowed: bool
    ) -> None:
        while True:
            came, data = await waiting.get()
            while self._delay_s is None or (slowed and self._delay_s > asyncio.get_running_loop().time() - came):
                rest = None if self._delay_s is None else came + self._delay_s - asyncio.get_running_loop().time()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), rest)
            writer.write(data)
            await writer.drain()


def _ports(pid: int) -> set[int]:
    """The ports of the process's TCP connections."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if found := re.match(r"socket:\[(\d+)]", os.readlink(descriptor)):
                inodes.add(found[1])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes}
