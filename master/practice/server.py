"""The practice server: `master.practice.server_room` on TCP, with a record of every game.

Usage::

    async with PracticeServer(ServerOptions(port=4081, record_folder=Path("records"))) as server:
        print(server.address)
        await asyncio.Event().wait()
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import structlog

from master.csa.lines import LineProtocol
from master.csa.offer import warm_up_rules
from master.csa.protocol import MAX_LINE
from master.game.recorder import RecordWriter
from master.practice.server_game import Phase, ServerGame
from master.practice.server_room import CloseConnection, Effect, RecordChanged, Room, RoomNote, RoomOptions, SendLine
from master.records.record import RecordError, RecordFile

CLOSE_TIMEOUT_S: Final = 1.0

log: structlog.stdlib.BoundLogger = structlog.get_logger("csa.server")


class ServerError(Exception):
    """The server cannot start; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    host: str = "127.0.0.1"
    port: int = 4081
    """0: any free port (`PracticeServer.address` has it)."""
    room: RoomOptions = field(default_factory=RoomOptions)
    record_folder: Path | None = None
    """The folder for the games' records; None: no records."""


class PracticeServer:
    """A CSA server for practice games. ``on_note`` gets logins, games and their ends, on the event loop."""

    def __init__(self, options: ServerOptions | None = None, on_note: Callable[[RoomNote], None] | None = None) -> None:
        self.options = options or ServerOptions()
        self.record_paths: dict[str, Path] = {}
        """The record of each game that has begun, by its id. Complete once the server has stopped."""
        self._room = Room(self.options.room)
        self._on_note = on_note
        self._lines: dict[int, LineProtocol] = {}
        self._records: dict[str, RecordFile] = {}
        self._writer = RecordWriter()
        self._last_conn = 0
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        # Epoch time that never runs backwards, as the room requires.
        self._epoch_ms = time.time() * 1000 - time.monotonic() * 1000

    @property
    def address(self) -> tuple[str, int]:
        """Host and port on which it listens. Valid while it runs."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    async def start(self) -> None:
        """Listen. Raises ServerError: the port is in use, not allowed, or the host is not one of this machine."""
        host, port = self.options.host, self.options.port
        if not 0 <= port < 1 << 16:
            raise ServerError(f"{port} is no TCP port")
        await asyncio.to_thread(warm_up_rules)
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ServerError(f"port {port} on {host} is in use: another server runs there") from error
            raise ServerError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
        log.info("listening", host=self.address[0], port=self.address[1])

    async def stop(self) -> None:
        """Close the port and every connection. Games that are not over end as interrupted in their records."""
        if self._timer is not None:
            self._timer.cancel()
        if self._server is None:
            return
        self._server.close()
        self._carry_out(self._room.close(self._now_ms()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._server.wait_closed()
        self._server = None
        await self._writer.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _now_ms(self) -> float:
        return self._epoch_ms + time.monotonic() * 1000

    def _accept(self) -> LineProtocol:
        self._last_conn += 1
        conn = self._last_conn
        lines = LineProtocol(
            lambda line: self._line(conn, line),
            lambda _: self._lost(conn),
            lambda: self._carry_out(self._room.connect(conn, self._now_ms())),
        )
        self._lines[conn] = lines
        return lines

    def _line(self, conn: int, line: str) -> None:
        if conn not in self._lines:
            return  # arrived after the line that made us close
        if len(line) > MAX_LINE:
            log.warning("line_too_long", conn=conn)
            self._lines[conn].close()
            return
        self._carry_out(self._room.receive(conn, line, self._now_ms()))

    def _lost(self, conn: int) -> None:
        self._lines.pop(conn, None)
        self._carry_out(self._room.disconnect(conn, self._now_ms()))

    def _tick(self) -> None:
        self._carry_out(self._room.tick(self._now_ms()))

    def _carry_out(self, effects: list[Effect]) -> None:
        # Lines first: the disk must not delay anything that a clock measures.
        for effect in effects:
            if isinstance(effect, SendLine) and effect.conn in self._lines:
                self._lines[effect.conn].send(effect.line)
            elif isinstance(effect, CloseConnection) and effect.conn in self._lines:
                self._lines.pop(effect.conn).close()
        for effect in effects:
            if isinstance(effect, RecordChanged):
                self._save(effect.game)
            elif isinstance(effect, RoomNote):
                log.info(effect.event, **effect.fields)
                if self._on_note is not None:
                    self._on_note(effect)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._room.deadline_ms
        if deadline is not None and self._server is not None and self._server.is_serving():
            delay_s = max(0.0, (deadline - self._now_ms()) / 1000)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._tick)

    def _save(self, game: ServerGame) -> None:
        if self.options.record_folder is None:
            return
        file = self._records.get(game.game_id)
        if file is None:
            file = self._records[game.game_id] = RecordFile(self.options.record_folder, game.record)
            try:
                self.record_paths[game.game_id] = file.take_name()
            except RecordError as error:
                log.error("record_not_written", error=str(error))
        if game.game_id in self.record_paths:
            self._writer.save(file)
        if game.phase is Phase.OVER:
            del self._records[game.game_id]
