"""Client and practice server on loopback TCP: the drivers, not the dialogue."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from rsshogi.record import Record

from master.csa import client as client_module
from master.csa.client import CsaConnection, CsaConnectionError
from master.csa.lines import LineProtocol
from master.csa.protocol import MAX_LINE
from master.practice.server import PracticeServer, ServerError, ServerOptions
from master.practice.server_room import RoomNote
from tests.master.csa.peer import Peer, free_port

pytestmark = pytest.mark.timeout(30)


async def test_a_game_and_its_record(tmp_path: Path) -> None:
    notes: list[RoomNote] = []
    async with PracticeServer(ServerOptions(port=0, record_folder=tmp_path), notes.append) as server:
        alice, bob = await Peer.connect(server.address), await Peer.connect(server.address)
        alice.say("LOGIN alice test-60-5F-B,topsecret")
        bob.say("LOGIN bob test-60-5F-W,pwb")
        for peer in (alice, bob):
            await peer.until("END Game_Summary")
            peer.say("AGREE")
        game_id = (await alice.until("START:")).removeprefix("START:")
        alice.say("+7776FU,'* 12 -3334FU")
        await bob.until("+7776FU,T0")
        bob.say("%TORYO")
        await alice.until("#WIN")
        await bob.until("#LOSE")
        assert "closed the connection" in await alice.lost
        await alice.connection.close()
        await bob.connection.close()
    record = Record.from_csa_file(str(server.record_paths[game_id]))
    assert record.result.is_black_win()
    assert record.moves[0].engine_info.eval == 12
    assert [note.event for note in notes] == ["login", "login", "game_offered", "game_started", "game_over"]
    assert "topsecret" not in repr(notes)


async def test_the_server_stops_during_a_game(tmp_path: Path) -> None:
    server = PracticeServer(ServerOptions(port=0, record_folder=tmp_path))
    await server.start()
    alice, bob = await Peer.connect(server.address), await Peer.connect(server.address)
    alice.say("LOGIN alice test-60-5F,p")
    bob.say("LOGIN bob test-60-5F,p")
    for peer in (alice, bob):
        await peer.until("END Game_Summary")
        peer.say("AGREE")
    await alice.until("START:")
    await server.stop()
    await alice.until("#CHUDAN")
    await alice.lost
    for peer in (alice, bob):
        await peer.connection.close()
    (path,) = tmp_path.glob("*.csa")  # noqa: ASYNC240 - nothing else runs
    assert "%CHUDAN" in path.read_text()


@pytest.mark.parametrize(("host", "port"), [("no-such-host.invalid", 4081), ("127.0.0.1", 99999), ("192.0.2.1", 4081)])
async def test_a_server_that_cannot_start(host: str, port: int) -> None:
    with pytest.raises(ServerError, match=f"{host}|99999 is no TCP port"):
        await PracticeServer(ServerOptions(host, port)).start()


@pytest.mark.parametrize(
    ("host", "port", "why"),
    [
        ("127.0.0.1", None, "refuses the connection"),
        ("no-such-host.invalid", 4081, "no address is known"),
        ("127.0.0.1", 99999, "99999 is no TCP port"),
        ("x" * 300, 4081, "cannot connect|no address"),
    ],
)
async def test_a_server_that_cannot_be_reached(host: str, port: int | None, why: str) -> None:
    with pytest.raises(CsaConnectionError, match=why):
        await Peer.connect((host, port or free_port()))


async def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()

    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(type(loop), "create_connection", never, raising=False)
    with pytest.raises(CsaConnectionError, match="does not answer"):
        await CsaConnection.open("127.0.0.1", 1, on_line=print, on_lost=print, timeout_s=0.05)


async def test_small_lines_go_out_at_once_and_dead_peers_are_noticed() -> None:
    async with PracticeServer(ServerOptions(port=0)) as server:
        peer = await Peer.connect(server.address)
        peer.say("")
        await peer.until("")
        ends = [peer.connection._lines, *server._lines.values()]
        assert len(ends) == 2
        for lines in ends:
            sock = lines.transport.get_extra_info("socket")
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 180_000
        await peer.connection.close()


async def test_an_empty_line_after_a_silence_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client_module.KEEP_ALIVE_S >= 30
    monkeypatch.setattr(client_module, "KEEP_ALIVE_S", 0.1)
    async with PracticeServer(ServerOptions(port=0)) as server:
        peer = await Peer.connect(server.address)
        for _ in range(3):
            assert await peer.lines.get() == ""
        await peer.connection.close()


async def test_the_delay_of_echoes() -> None:
    delays: list[float] = []
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"-3334FU,T1\n")  # the opponent's, and no echo
        await asyncio.sleep(0.1)
        writer.write(b"+7776FU,T0\n+2726FU,T0\n")
        await reader.readline()
        writer.write(b"##[CHAT] hello\n\n")
        writer.close()

    async with await asyncio.start_server(late, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        connection = await CsaConnection.open(
            host, port, on_line=heard.put_nowait, on_lost=lambda _: None, on_echo=delays.append
        )
        connection.send("+7776FU,'* 12 -3334FU")
        for _ in range(3):
            await heard.get()
        connection.send("")
        for _ in range(2):
            await heard.get()
        await connection.close()
    first, second = delays
    assert 95 < first < 5_000
    assert second < 5_000


async def test_a_line_without_end_closes_the_connection_to_the_server() -> None:
    async with PracticeServer(ServerOptions(port=0)) as server:
        peer = await Peer.connect(server.address)
        peer.connection._lines.transport.write(b"x" * (MAX_LINE + 10))
        await peer.lost
        await peer.connection.close()


async def test_close_does_not_wait_for_a_peer_that_reads_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        peer = await Peer.connect(deaf.getsockname()[:2])
        peer.connection._lines.transport.write(b"x" * 50_000_000)
        started = asyncio.get_running_loop().time()
        await peer.connection.close(timeout_s=0.2)
        assert asyncio.get_running_loop().time() - started < 2
        assert not peer.lost.done()


def collect(*chunks: bytes) -> list[str]:
    lines: list[str] = []
    protocol = LineProtocol(lines.append, lambda _: None)
    for chunk in chunks:
        protocol.data_received(chunk)
    return lines


def test_framing() -> None:
    assert collect(b"LOGIN:al", b"ice OK\nBEGIN", b" Game_Summary\r\n\n") == [
        "LOGIN:alice OK",
        "BEGIN Game_Summary",
        "",
    ]
    assert collect(b"\xff\xfe\n") == ["\ufffd\ufffd"]
    assert collect("棋譜\n".encode()) == ["棋譜"]


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() -> None:
    huge = b"x" * (MAX_LINE - 1)
    lines = collect(huge, huge, huge, b"\nnext\n")
    assert [len(line) for line in lines] == [MAX_LINE + 1, 4]
    assert collect(huge + b"yyyy\nnext\n") == [(huge + b"yy").decode(), "next"]
