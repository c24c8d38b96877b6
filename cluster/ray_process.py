"""`cluster.ray_cluster` in a process of its own, so that whatever becomes of Ray, the master plays on.

Ray's native code ends the process that it is in when it can do no more. Measured (Ray 2.60): 60 s after the death of
its GCS, without a word. Here that is the end of this one process; `RayProcess.ended` tells, and the master starts
another. The process ends with its standard input, and so with the master however that ends, and takes with it what it
started.

Requests and replies are pickles with their length before them: ``(number, method, arguments)`` over standard input,
``(number, error kind, value)`` over standard output; number 0 says why Ray was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import struct
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, BinaryIO, TypeVar

from cluster.api import FleetError
from cluster.node_process import NodeSpec
from cluster.ray_cluster import NodeDied, RayCluster, RayFacts

_T = TypeVar("_T")

_LENGTH = struct.Struct(">I")
_LONGEST_LINE = 1 << 24
"""Of Ray's errors, in bytes: beyond it nobody would read them any more, and Ray would stand still."""
_CLOSING_S = 10.0
"""How long Ray may take to end."""


class RayLost(NodeDied):
    """Ray itself is gone, and with it, soon or already, the node."""


class RayProcess:
    """The master's side: the methods of `RayCluster`, for one life of the process. All from one asyncio loop.

    Args:
        address: as for `RayCluster`.
        nodes: as for `RayCluster`.
    """

    def __init__(self, address: str | None, nodes: int) -> None:
        self._address = address
        self._nodes = nodes
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = count(1)
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._last_words: deque[str] = deque(maxlen=1)
        self._why = ""
        self._ended = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def open(self) -> RayFacts:
        """Start the process, and Ray in it; `close` is due afterwards, also where it failed.

        Raises:
            FleetError: that failed; the text says why.
        """
        # A session of its own: Ctrl-C is the master's, and whatever is left can be ended as a group.
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cluster.ray_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        self._tasks = [
            asyncio.ensure_future(self._read_replies(process.stdout)),
            asyncio.ensure_future(self._read_errors(process.stderr)),
        ]
        try:
            facts: RayFacts = await self._ask("open", self._address, self._nodes)
        except RayLost as error:
            raise FleetError(f"Ray's process ended: {error}") from error
        except NodeDied as error:  # what its process had no word for
            raise FleetError(f"Ray's process: {error}") from error
        return facts

    async def spawn(self, spec: NodeSpec) -> int:
        """As `RayCluster.spawn`. Raises RayLost, as all that follows."""
        actor: int = await self._ask("spawn", spec)
        return actor

    async def share(self, value: bytes) -> int:
        """As `RayCluster.share`."""
        number: int = await self._ask("share", value)
        return number

    async def work(self, function: Callable[..., _T], shared: int, *arguments: object) -> _T:
        """As `RayCluster.work`; function, arguments and result must be picklable."""
        result: _T = await self._ask("work", function, shared, *arguments)
        return result

    async def ready(self, actor: int) -> str:
        """As `RayCluster.ready`."""
        incarnation: str = await self._ask("ready", actor)
        return incarnation

    async def watch(self, actor: int) -> None:
        """As `RayCluster.watch`."""
        await self._ask("watch", actor)

    async def end(self, actor: int) -> None:
        """As `RayCluster.end`."""
        await self._ask("end", actor)

    async def ended(self) -> str:
        """Wait until Ray, or the process, is gone. Returns why."""
        await self._ended.wait()
        return self._why

    async def close(self) -> None:
        """End everything: by the end of its input, or by force. More than once does no harm."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_S + 2):
                    await process.wait()
        finally:  # also where the caller was cancelled meanwhile: nobody else would
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end("it was closed")

    async def _ask(self, method: str, *arguments: object) -> Any:
        if self._ended.is_set() or self._process is None or self._process.stdin is None:
            raise RayLost(self._why)
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(_frame((number, method, arguments)))
            return await reply
        finally:
            del self._replies[number]

    async def _read_replies(self, stream: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                number, kind, value = await _read(stream)
                if number == 0:
                    self._end(value)
                    continue
                reply = self._replies.get(number)
                if reply is None or reply.done():
                    continue
                if kind:
                    reply.set_exception({"fleet": FleetError, "died": NodeDied}[kind](value))
                else:
                    reply.set_result(value)
        await asyncio.sleep(0)  # the last words come at the same time
        self._end(self._last_words[-1] if self._last_words else "without a word")

    async def _read_errors(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            if line.strip():
                self._last_words.append(line.decode(errors="replace").strip()[:500])

    def _end(self, why: str) -> None:
        self._why = self._why or why
        self._ended.set()
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(RayLost(self._why))


class _Service:
    """The process's side."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._cluster: RayCluster | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve requests until the input ends."""
        loop = asyncio.get_running_loop()
        requests = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                self._begin(self._serve(*await _read(requests)))
        try:
            async with asyncio.timeout(_CLOSING_S):
                if self._cluster is not None:
                    await self._cluster.close()
        finally:
            if self._cluster is not None:
                self._cluster.remove_folder()

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        kind = ""
        value: object = None
        try:
            if method == "open":
                self._cluster = RayCluster(*arguments)
                value = await self._cluster.open()
                # Ray has set handlers of its own. A SIGTERM to the whole group is the master's affair.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self._begin(self._tell_the_loss(self._cluster))
            else:
                call: Callable[..., Awaitable[Any]] = getattr(self._cluster, method)
                value = await call(*arguments)
        except FleetError as error:
            kind, value = "fleet", str(error)
        except Exception as error:
            kind, value = "died", str(error) or type(error).__name__
        self._reply(number, kind, value)

    async def _tell_the_loss(self, cluster: RayCluster) -> None:
        self._reply(0, "", await cluster.lost())

    def _reply(self, number: int, kind: str, value: object) -> None:
        self._replies.write(_frame((number, kind, value)))
        self._replies.flush()


def _frame(value: object) -> bytes:
    data = pickle.dumps(value)
    return _LENGTH.pack(len(data)) + data


async def _read(stream: asyncio.StreamReader) -> Any:
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return pickle.loads(await stream.readexactly(length))


def main() -> None:
    """The process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # Ray writes to standard output; what belongs to the master goes through a copy that Ray does not know.
    replies = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    status = 1
    try:
        asyncio.run(_Service(replies).run())
        status = 0
    finally:
        os._exit(status)  # not held up by a thread that waits for a Ray that is gone


if __name__ == "__main__":
    main()
