"""The fork server and its nodes as real processes, without Ray."""

from __future__ import annotations

import asyncio
import os
import pickle
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cluster.network.channel import ChannelServer
from cluster.network.frames import frame
from cluster.network.messages import Begun, End, Failed, Hello, Message
from cluster.node.fork_server_link import Begin, Link, command, fork_server_name, holder, node_name, running_nodes
from cluster.node.process import NodeSpec
from tests.cluster.engines import broken_engine, endless_engine
from tests.cluster.processes import alive
from tests.waiting import until
from worker.engine import Engine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.usefixtures("warm")]


class Machine:
    """A master's channel, and the arguments of a fork server."""

    def __init__(self) -> None:
        self.run = secrets.token_hex(8)
        self.heard: list[tuple[str, Message]] = []
        self.channel = ChannelServer(lambda peer, message: self.heard.append((peer, message)), lambda *_: None)
        self.channel.open()
        self._fork_servers: list[subprocess.Popen[bytes]] = []

    def fork_server(self) -> subprocess.Popen[bytes]:
        """Start one as the master does."""
        words, environment = command()
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment, start_new_session=True)
        self._fork_servers.append(process)
        self.tell(process, Begin(self.run, local=True))
        return process

    def spec(self, node_id: str, engine: Callable[[], Engine] = endless_engine) -> bytes:
        return pickle.dumps(NodeSpec(node_id, self.channel.admit(node_id), engine))

    def tell(self, fork_server: subprocess.Popen[bytes], order: object) -> None:
        assert fork_server.stdin is not None
        fork_server.stdin.write(frame(order))
        fork_server.stdin.flush()

    async def said(self, kind: type[Message], count: int = 1, node_id: str = "node-1") -> Message:
        """The ``count``-th message of that kind, of that node."""

        def found() -> list[Message]:
            return [m for _, m in self.heard if isinstance(m, kind) and getattr(m, "node_id", "") == node_id]

        await until(lambda: len(found()) >= count, 60)
        return found()[count - 1]

    async def hello(self, count: int = 1, node_id: str = "node-1") -> Hello:
        said = await self.said(Hello, count, node_id)
        assert isinstance(said, Hello)
        return said

    def close(self) -> None:
        for process in self._fork_servers:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
        for process in self._fork_servers:
            process.wait(20)
        self.channel.close()


@asynccontextmanager
async def a_machine() -> AsyncIterator[Machine]:
    machine = Machine()
    try:
        yield machine
    finally:
        machine.close()


def processes() -> set[int]:
    return {int(path.name) for path in Path("/proc").glob("[0-9]*")}


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


async def test_a_node_that_dies_is_made_anew() -> None:
    async with a_machine() as machine:
        fork_server = machine.fork_server()
        machine.tell(fork_server, ("start", "node-1", machine.spec("node-1")))
        first = await machine.hello()
        assert threads(fork_server.pid) == 1  # else it may not fork
        assert holder(node_name(machine.run, "node-1")) == first.pid
        os.kill(first.pid, signal.SIGKILL)
        begun = await machine.said(Begun, 2)
        assert isinstance(begun, Begun)
        assert begun.before == "its process died"
        second = await machine.hello(2)
        assert second.incarnation == begun.incarnation != first.incarnation
        os.kill(second.pid, signal.SIGSEGV)
        begun = await machine.said(Begun, 3)
        assert isinstance(begun, Begun)
        assert begun.before == "its process died: SIGSEGV"
        assert not alive(first.pid)
        assert first.pid not in processes()  # nor as a zombie


async def test_an_engine_that_cannot_be_made_is_told() -> None:
    async with a_machine() as machine:
        machine.tell(machine.fork_server(), ("start", "node-1", machine.spec("node-1", broken_engine)))
        for count in (1, 2):  # it is tried again
            assert await machine.said(Failed, count) == Failed("node-1", "no such net: x.bin")


async def test_a_fork_server_elsewhere_that_cannot_be_prepared_leaves_it_to_the_node() -> None:
    """The node tries by itself, and reports a failure to the master; nobody reads this fork server's output."""
    script = "import cluster.node.fork_server as forks; forks._prepare = lambda: 1 // 0; forks.main()"
    async with a_machine() as machine:
        words, begin = [sys.executable, "-c", script], frame(Begin(machine.run, local=False))
        await asyncio.to_thread(subprocess.run, words, input=begin, stderr=subprocess.DEVNULL, check=True)
        supervisor = await asyncio.to_thread(Link, machine.run)
        try:
            assert supervisor.ask("orphan") == ""
            pid = supervisor.ask("keep", "node-1", machine.spec("node-1"))
            assert (await machine.hello()).pid == pid
        finally:
            os.kill(supervisor.pid, signal.SIGKILL)
            for node_id in running_nodes(machine.run):
                os.kill(holder(node_name(machine.run, node_id)) or 0, signal.SIGKILL)


async def test_nodes_outlive_their_fork_servers_and_each_next_one_finds_them() -> None:
    async with a_machine() as machine:
        fork_server = machine.fork_server()
        machine.tell(fork_server, ("start", "node-1", machine.spec("node-1")))
        node = await machine.hello()
        for _ in range(2):
            fork_server.kill()
            fork_server.wait()
            assert alive(node.pid)
            fork_server = machine.fork_server()
            machine.tell(fork_server, ("start", "node-1", machine.spec("node-1")))
            pid = fork_server.pid
            await until(lambda pid=pid: holder(fork_server_name(machine.run)) == pid, 60)  # type: ignore[misc]
            link = await asyncio.to_thread(Link, machine.run)
            assert await asyncio.to_thread(link.ask, "orphan") == "node-1"
            link.close()
        assert alive(node.pid)
        os.kill(node.pid, signal.SIGKILL)
        assert (await machine.hello(2)).pid != node.pid
        assert len([m for _, m in machine.heard if isinstance(m, Hello)]) == 2


async def test_a_supervisor_adopts_a_node_that_has_none() -> None:
    """On one of several machines: the supervisor starts the fork server, which outlives it."""
    async with a_machine() as machine:
        supervisor = await asyncio.to_thread(Link, machine.run)
        try:
            assert supervisor.ask("orphan") == ""
            pid = supervisor.ask("keep", "node-1", machine.spec("node-1"))
            assert (await machine.hello()).pid == pid
            other = await asyncio.to_thread(Link, machine.run)
            assert other.pid == supervisor.pid
            assert other.ask("orphan") == ""
            supervisor.close()
            await until(lambda: other.ask("orphan") == "node-1", 60)
            assert running_nodes(machine.run) == ["node-1"]
            assert other.ask("keep", "node-1", machine.spec("node-1")) == pid
            # The node lives elsewhere by now; here is another one.
            moved = other.ask("keep", "node-2", machine.spec("node-2"))
            assert (await machine.hello(node_id="node-2")).pid == moved != pid
            assert running_nodes(machine.run) == ["node-2"]
            assert not alive(pid)
            other.close()
        finally:
            os.kill(supervisor.pid, signal.SIGKILL)
            for node_id in running_nodes(machine.run):
                os.kill(holder(node_name(machine.run, node_id)) or 0, signal.SIGKILL)


@pytest.mark.parametrize("again", [True, False])
async def test_the_master_ends_a_node(again: bool) -> None:
    async with a_machine() as machine:
        fork_server = machine.fork_server()
        for node_id in ("node-1", "node-2"):
            machine.tell(fork_server, ("start", node_id, machine.spec(node_id)))
        node, other = await machine.hello(), await machine.hello(node_id="node-2")
        assert machine.channel.send(node.peer, End(again))
        await until(lambda: not alive(node.pid), 60)
        if again:
            assert (await machine.hello(2)).pid != node.pid
        else:
            # The other node's death starts a new incarnation, the first one's does not.
            os.kill(other.pid, signal.SIGKILL)
            await machine.hello(2, "node-2")
            assert running_nodes(machine.run) == ["node-2"]


async def test_everything_ends_with_the_master() -> None:
    async with a_machine() as machine:
        fork_server = machine.fork_server()
        machine.tell(fork_server, ("start", "node-1", machine.spec("node-1")))
        node = await machine.hello()
        assert fork_server.stdin is not None
        fork_server.stdin.close()
        assert await asyncio.to_thread(fork_server.wait, 20) == 0
        assert not alive(node.pid)
