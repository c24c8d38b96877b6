"""The channel over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import zmq

from cluster.network.channel import ChannelAddress, ChannelClient, ChannelServer
from cluster.network.messages import MAX_BYTES, Done, Heartbeat, Hello, Job, Message, NewGame, Stop, encode
from tests.waiting import until
from worker.shogi import STARTPOS


class Master:
    """A server that records all messages."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Message]] = []
        self.refused: list[tuple[str, str]] = []
        self.server = ChannelServer(lambda peer, message: self.heard.append((peer, message)), self._refuse)
        self.url = self.server.open()
        self.address = self.server.admit("n1")

    def _refuse(self, peer: str, why: str) -> None:
        self.refused.append((peer, why))

    def kinds(self, kind: type[Message]) -> list[Message]:
        return [message for _, message in self.heard if isinstance(message, kind)]


def client(address: ChannelAddress, orders: queue.Queue[Message], incarnation: str = "a") -> ChannelClient:
    made = ChannelClient(address, Hello("n1", incarnation, "h", 1, "e"), orders.put, lambda: (7, False), 0.05)
    made.start()
    return made


async def test_both_directions() -> None:
    master, orders = Master(), queue.Queue[Message]()
    node = client(master.address, orders)
    await until(lambda: master.kinds(Hello))
    assert master.heard[0][0] == "n1/a"
    job = Job(1, 2, STARTPOS, ("7g7f",))
    for order in (job, Stop(2), NewGame()):
        assert master.server.send("n1/a", order)
    assert [await asyncio.to_thread(orders.get, True, 2) for _ in range(3)] == [job, Stop(2), NewGame()]
    for number in range(100):
        node.send(Done("n1", 1, number, 0, 0))
    await until(lambda: len(master.kinds(Done)) == 100)
    assert [done.job_id for done in master.kinds(Done)] == list(range(100))  # type: ignore[union-attr]
    await until(lambda: len(master.kinds(Heartbeat)) > 2)
    assert master.kinds(Heartbeat)[0] == Heartbeat("n1", "a", 7, False)
    node.close()
    node.close()
    node.send(NewGame())
    master.server.close()
    master.server.close()


async def test_a_message_that_fails_does_not_hold_up_the_next_ones() -> None:
    """They came together: the system signals them only once."""
    heard: list[int] = []

    def on_message(_peer: str, message: Message) -> None:
        if isinstance(message, Done):
            heard.append(message.job_id)
            raise RuntimeError("planted")

    server = ChannelServer(on_message, lambda peer, why: None)
    server.open()
    node = client(server.admit("n1"), queue.Queue())
    for number in range(300):
        node.send(Done("n1", 1, number, 0, 0))
    await until(lambda: len(heard) == 300)
    assert heard == list(range(300))
    node.close()
    server.close()


async def test_without_a_nodes_key_nobody_comes_in() -> None:
    master, orders = Master(), queue.Queue[Message]()
    public, secret = zmq.curve_keypair()
    strangers = [
        client(replace(master.address, client_public=public, client_secret=secret), orders),
        client(replace(master.address, server_public=public), orders, "b"),
    ]
    with zmq.Context() as context, context.socket(zmq.DEALER) as plain:
        plain.linger = 0
        plain.connect(master.address.url)
        plain.send(b"hello")
        await until(lambda: master.refused)
        await asyncio.sleep(0.3)
    assert not master.heard
    assert set(master.refused) == {("", "a peer without a node's key")}
    for stranger in strangers:
        stranger.close()
    master.server.close()


@contextlib.contextmanager
def raw(address: ChannelAddress) -> Iterator[zmq.Socket[bytes]]:
    """A socket with a node's key that sends any bytes."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as node:
        node.linger = 0
        node.curve_serverkey = address.server_public
        node.curve_publickey, node.curve_secretkey = address.client_public, address.client_secret
        node.connect(address.url)
        yield node


NEW_GAME = b"\x81\xa4kind\xa8new_game"


async def test_garbage_is_refused_and_the_rest_goes_on() -> None:
    master = Master()
    with raw(master.address) as node:
        node.send_multipart([b"n1/a", b"garbage"])
        node.send(b"one frame")
        node.send_multipart([b"n1/a", NEW_GAME, b"three"])
        node.send_multipart([b"n1/" + b"a" * 1000, NEW_GAME])
        node.send_multipart([b"n1/\xff\xfe", NEW_GAME])
        node.send_multipart([b"", NEW_GAME])
        node.send_multipart([b"n1/a", NEW_GAME])
        await until(lambda: ("n1/a", NewGame()) in master.heard)
    assert master.heard == [("n1/\ufffd\ufffd", NewGame()), ("n1/a", NewGame())]
    assert len(master.refused) == 5
    assert [peer for peer, _ in master.refused] == ["n1/a", "n1", "n1", "n1", "n1"]
    assert all(why.startswith("message:") for _, why in master.refused)
    master.server.close()


async def test_nobody_speaks_in_the_name_of_another_node() -> None:
    master = Master()
    other = master.server.admit("n2")
    with raw(other) as node:
        for name in (b"n1/a", b"n1", b"/n2/a", b"n2/b/a", b"n2/a"):
            node.send_multipart([name, NEW_GAME])
        await until(lambda: master.heard)
    assert master.heard == [("n2/a", NewGame())]
    names = ["n1/a", "n1", "/n2/a", "n2/b/a"]
    assert master.refused == [("n2", f"message: in the name of {name!r}") for name in names]
    master.server.close()


async def test_nobody_gets_the_orders_of_another_node() -> None:
    """Neither its messages nor the name of its connection get it those orders."""
    master, orders = Master(), queue.Queue[Message]()
    node = client(master.address, orders)
    await until(lambda: master.kinds(Hello))
    other = master.server.admit("n2")
    with zmq.Context() as context, context.socket(zmq.DEALER) as thief:
        thief.linger = 0
        thief.identity = b"n1/a"
        thief.curve_serverkey = other.server_public
        thief.curve_publickey, thief.curve_secretkey = other.client_public, other.client_secret
        thief.connect(other.url)
        hello = encode(Hello("n1", "a", "h", 1, "e"))
        thief.send_multipart([b"n1/a", hello])
        await until(lambda: master.refused)
        assert master.server.send("n1/a", Stop(3))
        assert await asyncio.to_thread(orders.get, True, 2) == Stop(3)
        assert not thief.poll(200)
    node.close()
    master.server.close()


async def test_a_node_that_connects_anew_gets_its_orders_there() -> None:
    master = Master()
    with raw(master.address) as first, raw(master.address) as second:
        for number, node in enumerate((first, second)):
            node.send_multipart([b"n1/a", encode(Hello("n1", "a", "h", 1, "e"))])
            await until(lambda number=number: len(master.heard) > number)  # type: ignore[misc]
            assert master.server.send("n1/a", Stop(number))
            assert await asyncio.to_thread(node.poll, 2000)
            node.recv()
        assert not first.poll(100)
    master.server.close()


async def test_a_node_of_many_lives_is_not_remembered_without_end() -> None:
    master = Master()
    with raw(master.address) as node:
        for number in range(100):
            node.send_multipart([b"n1/%d" % number, NEW_GAME])
        await until(lambda: len(master.heard) == 100)
        assert not master.server.send("n1/0", Stop(1))
        assert master.server.send("n1/99", Stop(1))
    master.server.close()


async def test_a_frame_that_is_too_large_ends_the_connection() -> None:
    """It is not even read to its end."""
    master = Master()
    with raw(master.address) as node:
        node.send_multipart([b"n1/a", bytes(MAX_BYTES)])
        await until(lambda: master.refused)
        node.send_multipart([b"n1/a", bytes(2 * MAX_BYTES)])
        await asyncio.sleep(0.3)
        node.send_multipart([b"n1/a", NEW_GAME])
        await until(lambda: master.heard)
    assert [why for _, why in master.refused] == ["message: Expected `object`, got `int`"]
    master.server.close()


async def test_a_master_that_is_gone_does_not_hold_the_node_up() -> None:
    first, orders = Master(), queue.Queue[Message]()
    node = client(first.address, orders)
    await until(lambda: first.kinds(Hello))
    first.server.close()
    began = time.monotonic()
    for _ in range(50):
        node.send(NewGame())
    assert time.monotonic() - began < 10
    node.close()


def test_secrets_do_not_show() -> None:
    address = ChannelAddress("tcp://x:1", b"public", b"known", b"hush")
    assert "hush" not in repr(address)


async def test_an_address_that_cannot_be_bound() -> None:
    server = ChannelServer(lambda _peer, _message: None, lambda _peer, _why: None, "192.0.2.77")
    with pytest.raises(OSError, match=r"192\.0\.2\.77"):
        server.open()


async def test_a_node_that_is_cut_off_notices() -> None:
    first, orders = Master(), queue.Queue[Message]()
    cut = threading.Event()
    hello = Hello("n1", "a", "h", 1, "e")
    node = ChannelClient(first.address, hello, orders.put, lambda: (0, True), cut.set, 0.05, cut_s=1.0)
    node.start()
    await until(lambda: first.kinds(Hello))
    await asyncio.sleep(1.5)
    assert not cut.is_set()
    began = time.monotonic()
    first.server.close()
    await until(cut.is_set)
    assert time.monotonic() - began > 0.75
    node.close()


async def test_a_node_without_a_master_gives_up() -> None:
    """Also a node that never found one; but not a node that found it again in time."""
    master, orders, told = Master(), queue.Queue[Message](), list[str]()
    nobody = replace(master.address, url="tcp://127.0.0.1:1")
    nodes = [
        ChannelClient(
            address,
            Hello("n1", name, "h", 1, "e"),
            orders.put,
            lambda: (0, True),
            lambda name=name: told.append(f"{name} cut"),
            0.05,
            cut_s,
            lambda name=name: told.append(f"{name} gone"),
            3 * cut_s,
        )
        # Finding it takes a handshake, which is slow on a busy machine.
        for name, address, cut_s in (("lost", nobody, 0.2), ("found", master.address, 20.0))
    ]
    for node in nodes:
        node.start()
    await until(lambda: "lost gone" in told)
    await asyncio.sleep(0.3)
    assert told == ["lost cut", "lost gone"]
    for node in nodes:
        await asyncio.to_thread(node.close)
    master.server.close()
