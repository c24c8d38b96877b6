"""The far side of a soak: a practice server that is restarted, reached over a line that is slow, has jitter and drops
connections.

    python -m benchmarks.far_side --records FOLDER [--seed S] [--drop-every S] [--restart-every S]

A separate process, so that the players' load does not slow down the server. It writes JSON lines: ``listening`` with
the port, ``cut`` for each connection that it ended (``name``, ``why``), and, once its stdin is closed, ``facts``.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, NamedTuple, cast

import typer
import uvloop

from master.logs.log import open_log
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions

_MOVE: Final = re.compile(rb"([+-])[0-9]{4}[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class Weather:
    """Delays of the line, one way, in seconds."""

    latency_s: float = 0.015
    jitter_s: float = 0.015
    """Mean of the exponential delay that is added to the latency."""
    spike_share: float = 0.01
    """Share of the chunks that take `spike_s` longer."""
    spike_s: float = 0.08

    def delay_s(self, rng: random.Random) -> float:
        spike = self.spike_s if rng.random() < self.spike_share else 0.0
        return self.latency_s + min(rng.expovariate(1 / self.jitter_s), 5 * self.jitter_s) + spike


class Turn(NamedTuple):
    """One turn as the server's end of the line sees it, in seconds of this machine's monotonic clock."""

    name: str
    """The player's name."""
    game: str
    began_s: float
    ended_s: float
    """When the player's line arrived, even if too late."""


@dataclass(slots=True)
class Watch:
    """The lines of one client and of its server, as the server's end of the connection sees them."""

    now: Callable[[], float]
    turns: list[Turn]
    faults: list[str]
    name: str = ""
    game: str = ""
    _mine: bytes = b""
    _first: bytes = b""
    _began: float | None = None
    """The beginning of this client's running turn; None: it is not on turn, or has sent its move."""
    _over: bool = False
    """The server has announced the end of the game; the client sent any later lines before it knew."""

    def server_says(self, line: bytes) -> None:
        if line.startswith(b"Your_Turn:"):
            self._mine = line[-1:]
        elif line.startswith(b"To_Move:"):
            self._first = line[-1:]
        elif line.startswith(b"START:"):
            self._began = self.now() if self._first == self._mine else None
            self._over = False
        elif (move := _MOVE.match(line)) and line.partition(b",")[2][:1] == b"T" and move[1] != self._mine:
            self._began = self.now()
        elif line.startswith(b"#"):
            self._over = True

    def client_says(self, line: bytes) -> None:
        if line.startswith(b"LOGIN "):
            self.name, self.game = (word.decode().partition(",")[0] for word in line.split()[1:3])
        elif line[:1] in (b"+", b"-", b"%"):
            if self._began is not None:
                self.turns.append(Turn(self.name, self.game, self._began, self.now()))
                self._began = None
            elif not self._over:
                self.faults.append(f"{self.name} said {line.decode(errors='replace')} off turn")


class Pipe:
    """One direction of a connection: chunks arrive late, in their order."""

    def __init__(self, delay_s: Callable[[], float], deliver: Callable[[bytes], None]) -> None:
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._delay_s = delay_s
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, data: bytes) -> None:
        self._waiting.append((self._loop.time() + self._delay_s(), data))
        if self._timer is None:
            self._set_timer()

    def close(self) -> None:
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self._timer = self._loop.call_at(self._waiting[0][0], self._on_timer) if self._waiting else None

    def _on_timer(self) -> None:
        if self._waiting:
            self._deliver(self._waiting.popleft()[1])
        self._set_timer()


class End(asyncio.Protocol):
    """One end of a connection; an empty chunk stands for its close."""

    def __init__(self, on_open: Callable[[End], None], on_data: Callable[[bytes], None]) -> None:
        self._on_open = on_open
        self._on_data = on_data
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._on_open(self)

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_data(b"")

    def write(self, data: bytes) -> None:
        if not data:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.write(data)


class Lines:
    """Assembles whole lines from chunks."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(line.rstrip(b"\r"))


@dataclass(eq=False, slots=True)
class Link:
    """A client's connection, and ours to the server for it."""

    watch: Watch
    ends: list[End] = field(default_factory=list)
    pipes: list[Pipe] = field(default_factory=list)

    def abort(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for end in self.ends:
            end.transport.abort()


class LossyLine:
    """A TCP proxy on loopback."""

    def __init__(self, upstream: tuple[str, int], weather: Weather, rng: random.Random) -> None:
        self.turns: list[Turn] = []
        self.faults: list[str] = []
        self.links: list[Link] = []
        self._upstream = upstream
        self._weather = weather
        self._rng = rng
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(self._accept, "127.0.0.1", 0)

    def cut(self, link: Link, why: str) -> None:
        """End a connection at both ends, without notice."""
        self._forget(link)
        link.abort()
        say("cut", name=link.watch.name, why=why)

    def _accept(self) -> End:
        loop = asyncio.get_running_loop()
        link = Link(Watch(time.monotonic, self.turns, self.faults))
        waiting: list[bytes] = []

        def delay_s() -> float:
            return self._weather.delay_s(self._rng)

        async def connect(client: End) -> None:
            heard, said = Lines(link.watch.server_says), Lines(link.watch.client_says)
            down = Pipe(delay_s, client.write)

            def from_server(data: bytes) -> None:
                heard.feed(data)
                down.put(data)

            def to_server(data: bytes) -> None:
                said.feed(data)
                server.write(data)

            try:
                _, server = await loop.create_connection(lambda: End(link.ends.append, from_server), *self._upstream)
            except OSError:
                client.transport.abort()
                return
            up = Pipe(delay_s, to_server)
            link.pipes += [down, up]
            self.links.append(link)
            for data in waiting:
                up.put(data)

        def opened(client: End) -> None:
            link.ends.append(client)
            task = loop.create_task(connect(client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        def from_client(data: bytes) -> None:
            if len(link.pipes) == 2:
                link.pipes[1].put(data)
            else:
                waiting.append(data)
            if not data:
                self._forget(link)

        return End(opened, from_client)

    def _forget(self, link: Link) -> None:
        if link in self.links:
            self.links.remove(link)


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def run(records: Path, seed: int, drop_every_s: float, restart_every_s: float, max_moves: int) -> None:
    """Serve until stdin is closed."""
    rng = random.Random(seed)
    room = RoomOptions(max_moves=max_moves)
    server = PracticeServer(ServerOptions(port=0, room=room, record_folder=records))
    await server.start()
    address = server.address
    line = LossyLine(address, Weather(), rng)
    proxy = await line.listen()
    over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    restarts: list[str] = []

    async def drop() -> None:
        while True:
            await asyncio.sleep(rng.expovariate(1 / drop_every_s))
            if line.links:
                line.cut(rng.choice(line.links), "dropped")

    async def restart() -> None:
        nonlocal server
        while True:
            await asyncio.sleep(restart_every_s * rng.uniform(0.5, 1.5))
            crash = rng.random() < 0.5
            restarts.append("crash" if crash else "stop")
            for link in list(line.links) if crash else []:
                line.cut(link, "crash")
            await server.stop()
            await asyncio.sleep(rng.uniform(0.2, 2.0))
            server = PracticeServer(ServerOptions(*address, room=room, record_folder=records))
            await server.start()

    say("listening", port=proxy.sockets[0].getsockname()[1])
    troubles = [trouble for trouble, every_s in ((drop, drop_every_s), (restart, restart_every_s)) if every_s]
    tasks = [asyncio.ensure_future(trouble()) for trouble in troubles]
    await asyncio.wait([over, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task.done():
            task.result()  # trouble ends only by its own failure
        task.cancel()
    proxy.close()
    await server.stop()
    say("facts", faults=line.faults, turns=line.turns, restarts=restarts)


def main(
    records: Annotated[Path, typer.Option(help="Folder for the server's records.")],
    seed: Annotated[int, typer.Option(help="Seed of the line's delays and cuts.")] = 1,
    drop_every: Annotated[float, typer.Option(help="Mean seconds between dropped connections; 0: none.")] = 20.0,
    restart_every: Annotated[float, typer.Option(help="Mean seconds between restarts; 0: none.")] = 60.0,
    max_moves: Annotated[int, typer.Option(help="Moves after which a game is drawn.")] = 64,
) -> None:
    with open_log(records, file_level="info", console_level="error", console=lambda text: print(text, file=sys.stderr)):
        uvloop.run(run(records, seed, drop_every, restart_every, max_moves))


if __name__ == "__main__":
    typer.run(main)
