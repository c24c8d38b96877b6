"""Cables on one machine, for the tests: a TCP proxy before the master's report port. Its links can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import threading
from pathlib import Path


class Proxy:
    """Forwards every connection to ``port`` of this machine, on its own thread, so that nobody holds it up.

    A cut link passes nothing on and loses nothing, as TCP does over a cable that is put back in time.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._whole: dict[int, asyncio.Event] = {}
        """Whether a link is open, by the port from which the node connected."""
        self._loop = asyncio.new_event_loop()
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=listener))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def cut(self, pid: int) -> None:
        """Nothing passes between that process and the master any more."""
        for whole in self._links(pid):
            self._loop.call_soon_threadsafe(whole.clear)

    def mend(self, pid: int) -> None:
        """The link passes everything again; the data held back arrives now."""
        for whole in self._links(pid):
            self._loop.call_soon_threadsafe(whole.set)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _links(self, pid: int) -> list[asyncio.Event]:
        ports = _ports(pid) & self._whole.keys()
        assert ports, f"process {pid} has no connection"
        return [self._whole[port] for port in ports]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        whole = self._whole[port] = asyncio.Event()
        whole.set()
        with contextlib.suppress(OSError):
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._port)
            ways = [asyncio.ensure_future(_pump(*way, whole)) for way in ((reader, up_writer), (up_reader, writer))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            up_writer.close()
        writer.close()
        del self._whole[port]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whole: asyncio.Event) -> None:
    while data := await reader.read(1 << 16):
        await whole.wait()
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
