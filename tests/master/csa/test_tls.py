"""TLS to a server: verified, and refused in one line where it cannot be."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from master.csa.client import CsaConnection, CsaConnectionError, TlsError, tls_context
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, LoginRefusedError, play_game
from master.player.instructions import Login
from tests.master.scripted import ScriptedSearcher

OPENSSL = shutil.which("openssl")
pytestmark = [pytest.mark.timeout(30), pytest.mark.skipif(OPENSSL is None, reason="needs openssl for a certificate")]


def run(main: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(main, 20))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificate and key of ``localhost``, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(folder / "key"), "-out", str(folder / "crt")]
    subprocess.run([str(OPENSSL), *words.split(), *files], check=True, capture_output=True)
    path = folder / "both.pem"
    path.write_text((folder / "key").read_text() + (folder / "crt").read_text())
    return path


async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"type 'LOGIN name password'\n")


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.close()


async def serve(certificate: Path) -> asyncio.Server:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)


async def connect(host: str, server: asyncio.Server, tls: ssl.SSLContext, lines: asyncio.Queue[str]) -> CsaConnection:
    port = server.sockets[0].getsockname()[1]
    return await CsaConnection.open(host, port, on_line=lines.put_nowait, on_lost=print, tls=tls)


def test_lines_both_ways(certificate: Path) -> None:
    async def main() -> None:
        lines: asyncio.Queue[str] = asyncio.Queue()
        async with await serve(certificate) as server:
            connection = await connect("localhost", server, tls_context(str(certificate)), lines)
            connection.send("+7776FU")
            assert await lines.get() == "+7776FU"
            await connection.close()

    run(main())


@pytest.mark.parametrize(
    ("host", "trusted", "says"),
    [
        ("localhost", False, "certificate of localhost:.* is not trusted: self.signed certificate"),
        ("127.0.0.1", True, "is not trusted: IP address mismatch"),
    ],
)
def test_who_is_not_trusted(certificate: Path, host: str, trusted: bool, says: str) -> None:
    async def main() -> None:
        async with await serve(certificate) as server:
            context = tls_context(str(certificate) if trusted else "")
            with pytest.raises(CsaConnectionError, match=says):
                await connect(host, server, context, asyncio.Queue())

    run(main())


def test_a_server_without_tls(certificate: Path) -> None:
    async def main() -> None:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            with pytest.raises(CsaConnectionError, match="does not speak TLS as we do"):
                await connect("localhost", server, tls_context(str(certificate)), asyncio.Queue())

    run(main())


def test_a_file_without_certificates(tmp_path: Path) -> None:
    with pytest.raises(TlsError, match=r"missing\.pem: cannot read the certificates to trust: No such file"):
        tls_context(str(tmp_path / "missing.pem"))
    (tmp_path / "empty.pem").write_text("nothing\n")
    with pytest.raises(TlsError, match=r"empty\.pem: cannot read"):
        tls_context(str(tmp_path / "empty.pem"))


def test_a_login_goes_over_tls_where_that_is_set(certificate: Path) -> None:
    async def main() -> None:
        said: list[bytes] = []

        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            said.append(await reader.readline())
            writer.write(b"LOGIN:incorrect\n")
            writer.close()

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        async with await asyncio.start_server(refuse, "127.0.0.1", 0, ssl=context) as server:
            address = ServerAddress("localhost", server.sockets[0].getsockname()[1])
            settings = GameSettings(tls=tls_context(str(certificate)))
            with pytest.raises(LoginRefusedError):
                await play_game(address, Login("alice", "p"), ScriptedSearcher(), settings)
        assert said == [b"LOGIN alice p\n"]

    run(main())
