"""`cluster.drivers.ray_cluster` in a process of its own, so that the master keeps playing when Ray fails.

Ray's native code ends its process when it cannot continue. Measured (Ray 2.60): 60 s after the death of its GCS,
without a message. Here that ends only this process; `RayProcess.ended` reports it, and the master starts another. The
process ends when its standard input closes, and so with the master, however the master ends.

It leads its own session, so that only the master gets Ctrl-C, and all its remaining processes can be ended together.

Requests and replies are frames (`cluster.network.frames`): ``(number, method, arguments)`` over standard input,
``(number, error kind, value)`` over standard output; number 0 carries the reason why Ray was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, BinaryIO

from cluster.api import FleetError
from cluster.drivers.ray_cluster import ActorDied, RayCluster, RayFacts, RayRefused, require_ray
from cluster.machine.processes import child_environment, end_session
from cluster.network.frames import frame, read_frame

_LONGEST_LINE = 1 << 24
"""The most bytes in one line of Ray's stderr. After a longer line nothing would read stderr any more, and Ray would
block."""
_LEAVING_S = 3.0
"""Seconds for disconnecting from the cluster."""
_PING_S = 2.0
"""Seconds between two checks that the process lives."""
_ANSWER_S = 10.0
"""Seconds without an answer after which the process counts as hanging."""
_FIRST_ANSWER_S = 60.0
"""The same for its first answer: it has to start."""


class RayLost(ActorDied):
    """Ray itself is gone, and its supervisors are gone or soon will be."""


class RayProcess:
    """The master's side: calls `RayCluster` in one run of the process. Use it from one asyncio loop.

    Args:
        address: as for `RayCluster`.
    """

    def __init__(self, address: str) -> None:
        self._address = address
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
        """Start the process, and connect; must be followed by `close`, even if it failed.

        Raises:
            FleetError: the connection failed; the text says why.
            RayRefused: another attempt would fail too.
        """
        require_ray()
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cluster.drivers.ray_process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=child_environment(),
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        self._tasks = [
            asyncio.ensure_future(self._read_replies(process.stdout)),
            asyncio.ensure_future(self._read_errors(process.stderr)),
            asyncio.ensure_future(self._look_whether_it_hangs()),
        ]
        try:
            facts: RayFacts = await self.ask("open", self._address)
        except RayLost as error:
            raise FleetError(f"Ray's process ended: {error}") from error
        except ActorDied as error:  # an error that its process did not name
            raise FleetError(f"Ray's process: {error}") from error
        return facts

    async def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of `RayCluster` there; arguments and result must be picklable.

        Raises:
            RayLost: the process, or Ray, is gone.
            ActorDied: as for that method.
        """
        if self._ended.is_set() or self._process is None or self._process.stdin is None:
            raise RayLost(self._why)
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        try:
            self._process.stdin.write(frame((number, method, arguments)))
            return await reply
        finally:
            del self._replies[number]

    async def ended(self) -> str:
        """Wait until Ray, or the process, is gone or hangs. Returns the reason."""
        await self._ended.wait()
        return self._why

    async def close(self) -> None:
        """End the process; the cluster continues. Disconnects first if possible. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if not self._ended.is_set():
                assert process.stdin is not None
                process.stdin.close()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVING_S + 1):
                        await process.wait()
        finally:  # also if the caller was cancelled: nothing else would do this
            await asyncio.shield(asyncio.to_thread(end_session, process.pid))
        await process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._end("it was closed")

    async def _look_whether_it_hangs(self) -> None:
        """Ping the process, which answers at once; only calls to Ray may take long."""
        limit_s = _FIRST_ANSWER_S
        try:
            while True:
                async with asyncio.timeout(limit_s):
                    await self.ask("ping")
                limit_s = _ANSWER_S
                await asyncio.sleep(_PING_S)
        except TimeoutError:
            self._end(f"its process hangs: no answer for {limit_s:.0f} s")
        except ActorDied:
            pass  # logged by whichever code noticed it

    async def _read_replies(self, stream: asyncio.StreamReader) -> None:
        kinds = {"fleet": FleetError, "refused": RayRefused, "died": ActorDied}
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                number, kind, value = await read_frame(stream)
                if number == 0:
                    self._end(value)
                    continue
                reply = self._replies.get(number)
                if reply is None or reply.done():
                    continue
                if kind:
                    reply.set_exception(kinds[kind](value))
                else:
                    reply.set_result(value)
        await asyncio.sleep(0)  # the last words arrive at the same time
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
        try:
            with contextlib.suppress(asyncio.IncompleteReadError):
                while True:
                    self._begin(self._serve(*await read_frame(requests)))
            if self._cluster is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LEAVING_S):
                        await self._cluster.leave()
        finally:
            end_session(os.getpid())

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
                # Ray has set handlers of its own. A SIGTERM to the whole group is handled by the master.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self._begin(self._tell_the_loss(self._cluster))
            elif method != "ping":
                call: Callable[..., Awaitable[Any]] = getattr(self._cluster, method)
                value = await call(*arguments)
        except RayRefused as error:
            kind, value = "refused", str(error)
        except FleetError as error:
            kind, value = "fleet", str(error)
        except Exception as error:
            kind, value = "died", str(error) or type(error).__name__
        self._reply(number, kind, value)

    async def _tell_the_loss(self, cluster: RayCluster) -> None:
        self._reply(0, "", await cluster.lost())

    def _reply(self, number: int, kind: str, value: object) -> None:
        self._replies.write(frame((number, kind, value)))
        self._replies.flush()


def main() -> None:
    """The process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # Ray writes to standard output; replies to the master go through a copy that Ray does not know.
    replies = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    status = 1
    try:
        asyncio.run(_Service(replies).run())
        status = 0
    finally:
        os._exit(status)  # do not wait for a thread that waits for a lost Ray


if __name__ == "__main__":
    main()
