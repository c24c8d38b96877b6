"""Runs `master.remote.host`: its connections, and its engine, which is a separate process (``gougi usi``)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import secrets
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from master.csa.lines import tune
from master.remote.client import LONGEST_LINE
from master.remote.host import Close, EndEngine, Host, Send, StartEngine, ToEngine

_MOST_STRANGERS: Final = 16
"""Maximum number of simultaneous connections."""
_MOST_UNREAD: Final = 1 << 22
"""Maximum bytes that wait for a connection. Then it is cut; a session gets them when it returns."""
_QUIT_S: Final = 10.0
"""Seconds that an engine has for its ``quit``."""


class ListenError(ValueError):
    """Listening as requested is impossible; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Place:
    """The address and the settings for listening.

    Raises:
        ListenError: other machines could reach it, and there is no secret.
    """

    host: str
    port: int
    secret: str = ""
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if not self.secret and not is_loopback(self.host):
            raise ListenError(f"{self.host}: others can reach it; it needs a secret (GOUGI_USI_SECRET)")

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context, if any. Raises ListenError: certificate or key cannot be used."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise ListenError(f"{self.certificate}: {error.strerror or error}") from error
        return context


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Engine:
    """An engine's process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # the reader of its output notices that it is gone
            self.process.stdin.write(f"{text}\n".encode())

    async def end(self) -> None:
        """Make it quit; kill it if it does not."""
        self.write("quit")
        with contextlib.suppress(OSError, RuntimeError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), _QUIT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class Listener:
    """Serves one engine to one user at a time.

    Args:
        command: the engine's command line.
    """

    def __init__(self, host: Host, command: Sequence[str]) -> None:
        self._host, self._command = host, command
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._engines: dict[int, _Engine] = {}
        self._waiting: dict[int, list[str]] = {}
        """Lines for an engine that is still being started."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0

    async def run(self, place: Place, ready: Callable[[str], None]) -> None:
        """Serve until cancelled; ``ready`` is called with the address.

        Raises:
            ListenError: the address cannot be used.
        """
        try:
            server = await asyncio.start_server(
                self._serve, place.host, place.port, ssl=place.tls(), limit=LONGEST_LINE
            )
        except OSError as error:
            raise ListenError(f"{place.host}:{place.port}: {(error.strerror or str(error)).lower()}") from error
        try:
            ready("{}:{}".format(*server.sockets[0].getsockname()[:2]))
            while True:
                await asyncio.sleep(1.0)
                self._host.tick(time.monotonic())
                self._carry_out()
        finally:
            server.close()
            for writer in list(self._writers.values()):
                writer.transport.abort()
            await asyncio.gather(*(engine.end() for engine in self._engines.values()))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._writers) >= _MOST_STRANGERS:
            writer.transport.abort()
            return
        self._count += 1
        number = self._count
        self._writers[number] = writer
        tune(writer.get_extra_info("socket"))  # a user of plain USI sends no pings: only this notices one that is gone
        self._host.opened(number, secrets.token_hex(16), time.monotonic())
        self._carry_out()
        with contextlib.suppress(OSError, ValueError):  # broken connection, or a line too long
            while (line := await reader.readline()).endswith(b"\n"):
                self._host.heard(number, line.decode(errors="replace").rstrip("\r\n"), time.monotonic())
                self._carry_out()
        if self._writers.pop(number, None) is not None:
            writer.transport.abort()
            self._host.gone(number, time.monotonic())
            self._carry_out()

    def _carry_out(self) -> None:
        while self._host.out:
            orders, self._host.out = self._host.out, []
            for order in orders:
                match order:
                    case Send(connection, text):
                        self._send(connection, text)
                    case Close(connection):
                        writer = self._writers.pop(connection, None)
                        if writer is not None:
                            writer.close()
                    case StartEngine(engine):
                        self._waiting[engine] = []
                        self._spawn(self._run_engine(engine))
                    case ToEngine(engine, text):
                        if engine in self._engines:
                            self._engines[engine].write(text)
                        elif engine in self._waiting:
                            self._waiting[engine].append(text)
                    case EndEngine(engine):
                        self._waiting.pop(engine, None)
                        if engine in self._engines:
                            self._spawn(self._engines.pop(engine).end())

    def _send(self, connection: int, text: str) -> None:
        writer = self._writers.get(connection)
        if writer is None or writer.is_closing():  # its reader notifies the host
            return
        if writer.transport.get_write_buffer_size() > _MOST_UNREAD:
            writer.transport.abort()
            return
        writer.write(f"{text}\n".encode())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_engine(self, number: int) -> None:
        """Start an engine, and pass on its output until it ends."""
        environment = {name: value for name, value in os.environ.items() if name != "GOUGI_USI_SECRET"}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 20, env=environment
            )
        except OSError as error:
            self._waiting.pop(number, None)
            self._host.ended(number, f"{self._command[0]}: {(error.strerror or str(error)).lower()}")
            self._carry_out()
            return
        engine = _Engine(process)
        lines = self._waiting.pop(number, None)
        if lines is None:  # it is no longer wanted
            await engine.end()
            return
        self._engines[number] = engine
        for line in lines:
            engine.write(line)
        assert process.stdout is not None
        with contextlib.suppress(ValueError):
            async for line_bytes in process.stdout:
                self._host.said(number, line_bytes.decode(errors="replace").rstrip("\r\n"))
                self._carry_out()
        if self._engines.pop(number, None) is not None:
            code = await process.wait()
            self._host.ended(number, f"exit code {code}")
            self._carry_out()


def listen(place: Place, name: str, keep_s: float, command: Sequence[str], ready: Callable[[str], None]) -> None:
    """Serve the engine that ``command`` starts, until SIGINT or SIGTERM; ``ready`` is called with the address.

    Raises:
        ListenError: the address cannot be used.
    """

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await Listener(Host(name, place.secret, keep_s), command).run(place, ready)

    asyncio.run(run())


def engine_command(*words: str) -> list[str]:
    """The command line of ``gougi usi WORDS`` in this installation."""
    return [sys.executable, "-P", "-m", "gougi", "usi", *words]
