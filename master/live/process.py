"""The process of the live page: reads facts from standard input, one per line, and serves browsers.

The first line holds the settings. The answer on standard output is the page's address, or the reason why there is none.
The end of the input ends the process, so none outlives its master.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Final

from master.live.page import Site
from master.live.server import Hub, address_of, listen, make_app, make_server

_MOST_LINE: Final = 1 << 24
"""Maximum bytes of one fact."""


async def serve(facts: asyncio.StreamReader, settings: dict[str, Any]) -> None:
    """Serve until the facts end."""
    host, token = settings["host"], settings["token"]
    try:
        sock = listen(host, settings["port"])
    except OSError as error:
        _answer({"error": f"{host}:{settings['port']}: {error.strerror or error}"})
        return
    site = Site(settings["head"])
    hub = Hub(site)
    server = make_server(make_app(hub, token), hub)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    _answer({"url": address_of(sock, host, token), "port": sock.getsockname()[1]})
    while line := await facts.readline():
        site.take(json.loads(line))
        hub.changed()
    server.should_exit = True
    await serving


async def main() -> None:
    """Read the settings, then serve."""
    os.nice(10)  # a game's processes come before its viewers
    reader = asyncio.StreamReader(_MOST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    if line := await reader.readline():
        await serve(reader, json.loads(line))


def _answer(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
