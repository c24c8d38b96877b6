"""The remote engine over real connections: a proxy cuts, delays and halves its lines, and a client is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from master.remote import client as client_module
from master.remote.client import read_secret
from master.remote.host import Host
from master.remote.listener import Listener, ListenError, Place
from tests.waiting import until

CLIENT = str(Path(client_module.__file__))
SCRIPTED = str(Path(__file__).with_name("scripted.py"))


class Proxy:
    """Passes bytes on to a port, in pieces and late, and cuts all connections on demand."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._port, self._rng = port, rng
        self._transports: set[asyncio.WriteTransport] = set()
        self.cuts = 0

    async def open(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        self.cuts += bool(self._transports)
        for transport in self._transports:
            transport.abort()
        self._transports.clear()

    def close(self) -> None:
        self._server.close()
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._transports |= {writer.transport, back.transport}
        with contextlib.suppress(OSError, RuntimeError):  # uvloop's error for a connection that was cut
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        for transport in (writer.transport, back.transport):
            transport.abort()
            self._transports.discard(transport)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(self._rng.randrange(1, 60)):
            if self._rng.random() < 0.3:
                await asyncio.sleep(self._rng.random() / 50)
            writer.write(data)
        writer.transport.abort()


class Gui:
    """A client's process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told: list[str] = []
        """Info strings."""

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def hear(self) -> str:
        """The next line that is no info string; empty at the end."""
        assert self.process.stdout is not None
        while True:
            line = (await self.process.stdout.readline()).decode().strip()
            if not line.startswith("info string"):
                return line
            self.told.append(line)

    async def begin(self) -> None:
        self.say("usi", "isready")
        assert [await self.hear() for _ in range(3)] == ["id name Scripted", "usiok", "readyok"]

    async def move(self, number: int, *, think_ms: int = 0) -> None:
        self.say(f"position startpos moves {number}", f"go movetime {think_ms}")
        assert await self.hear() == f"info depth 1 pv {number}"
        assert await self.hear() == f"bestmove {number}"

    async def quit(self) -> None:
        self.say("quit")
        assert await self.process.wait() == 0
        assert await self.hear() == ""


class Stage:
    """A listener with the scripted engine, and its guests."""

    def __init__(self, folder: Path, secret: str) -> None:
        self.log, self.secret = folder / "engine.log", secret
        self.log.touch()

    @contextlib.asynccontextmanager
    async def open(self, keep_s: float = 60, **settings: Any) -> AsyncIterator[int]:
        self.host = Host("Scripted", self.secret, keep_s)
        listener = Listener(self.host, (sys.executable, SCRIPTED, str(self.log)))
        found = asyncio.get_running_loop().create_future()
        place = Place("127.0.0.1", 0, self.secret, **settings)
        task = asyncio.ensure_future(listener.run(place, found.set_result))
        yield int((await found).rpartition(":")[2])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def gui(self, port: int, *words: str, encoding: str = "") -> Gui:
        """The client alone: isolated, without site-packages, and in a locale of another encoding if one is given."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-S" if encoding else "-IS", CLIENT, f"127.0.0.1:{port}", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"GOUGI_USI_SECRET": self.secret, "PYTHONIOENCODING": encoding},
        )
        return Gui(process)

    @property
    def engines(self) -> int:
        """The number of engines so far."""
        return self.log.read_text().splitlines().count("usi")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, "a secret")


@pytest.mark.parametrize(
    ("games", "moves", "cuts"),
    [(1, 12, 6), pytest.param(10, 10, 100, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
async def test_cuts_lose_no_move_and_double_none(games: int, moves: int, cuts: int, stage: Stage) -> None:
    rng = random.Random(7)
    async with stage.open() as port:
        proxy = Proxy(port, rng)
        through = await proxy.open()
        for game in range(games):
            gui = await stage.gui(through)
            await gui.begin()
            wanted = cuts * (game + 1) // games
            for number in range(moves):
                left = (moves - number) and -(-(wanted - proxy.cuts) // (moves - number))
                moving = asyncio.ensure_future(gui.move(number, think_ms=30))
                for _ in range(left):
                    await asyncio.sleep(rng.random() / 10)
                    proxy.cut()
                await moving
            await gui.quit()
        proxy.close()
        assert proxy.cuts >= cuts * 3 // 4
        assert stage.engines == games


@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
async def test_the_lines_are_utf_8_in_any_locale(encoding: str, stage: Stage) -> None:
    async with stage.open() as port:
        gui = await stage.gui(port, encoding=encoding)
        await gui.begin()
        assert gui.process.stdin is not None
        gui.process.stdin.write(
            "setoption name BookFile value 将棋/定跡.db\nsetoption name A value ".encode() + b"\x8f\xab\n"
        )
        await gui.move(3)
        await gui.quit()
    assert "setoption name BookFile value 将棋/定跡.db\n" in stage.log.read_text(encoding="utf-8")


async def test_a_user_of_plain_usi_that_vanishes_is_noticed() -> None:
    """It sends no pings."""
    found = asyncio.get_running_loop().create_future()
    listener = Listener(Host("G", "", 60), (sys.executable, "-c", "input()"))
    task = asyncio.ensure_future(listener.run(Place("127.0.0.1", 0), found.set_result))
    _, writer = await asyncio.open_connection("127.0.0.1", int((await found).rpartition(":")[2]))
    await until(lambda: listener._writers)
    (served,) = listener._writers.values()
    assert served.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    writer.close()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_killed_client_leaves_the_engine_to_nobody_until_the_time_is_over(stage: Stage) -> None:
    async with stage.open(keep_s=1e6) as port:
        first = await stage.gui(port)
        await first.begin()
        first.say("position startpos moves 1", "go movetime 1")
        first.process.kill()
        await first.process.wait()
        second = await stage.gui(port)
        assert await second.hear() == ""
        assert "busy: it is kept for somebody whose connection was cut" in second.told[-1]
        assert await second.process.wait() == 1
        stage.host._keep_s = 0
        stage.host.tick(1e9)
        third = await stage.gui(port)
        await third.begin()
        assert stage.engines == 2
        await third.quit()


async def test_tls_with_a_certificate_of_our_own(stage: Stage, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x"
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)  # noqa: ASYNC221 - nothing else runs yet
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    async with stage.open(certificate=certificate, key=key) as port:
        gui = await stage.gui(port, "--tls-ca", str(certificate))
        await gui.begin()
        await gui.move(3)
        await gui.quit()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"list\n")
        assert b"auth_cram" not in await reader.read(200)  # without TLS there is nothing
        writer.close()
        with pytest.raises(ssl.SSLError):
            await asyncio.open_connection("127.0.0.1", port, ssl=ssl.create_default_context())


async def test_the_bridges_dialect_over_a_line(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "")
    async with stage.open() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"run gougi\nusi\nisready\n")
        assert await reader.readuntil(b"readyok\n") == b"id name Scripted\nusiok\nreadyok\n"
        writer.write(b"quit\n")
        assert await reader.read() == b""
        writer.close()


def test_beyond_this_machine_it_needs_a_secret() -> None:
    with pytest.raises(ListenError, match="it needs a secret"):
        Place("0.0.0.0", 0)
    Place("localhost", 0)
    Place("::1", 0)


def test_a_secrets_file_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text("word\n")
    file.chmod(0o644)
    with pytest.raises(ValueError, match="needs mode 600"):
        read_secret(file)
    file.chmod(0o600)
    assert read_secret(file) == "word"
    file.write_bytes(b"\xef\xbb\xbfword\r\n")  # as a Windows editor writes it
    assert read_secret(file) == "word"
    monkeypatch.setenv("GOUGI_USI_SECRET", "other")
    assert read_secret(None) == "other"


def test_a_secret_from_a_pipe_needs_no_mode(tmp_path: Path) -> None:
    """A pipe with a name has the mode of the umask; nobody else can read what one process has read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o644)
    writer = threading.Thread(target=pipe.write_text, args=("word\n",), daemon=True)
    writer.start()
    assert read_secret(pipe) == "word"
    writer.join()
