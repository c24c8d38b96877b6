"""The nursery on the master's own machine: the master starts it, and starts it again where it was killed."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections import deque
from collections.abc import Callable

from cluster.network.frames import frame
from cluster.node.nursery_link import Begin, command
from cluster.node.process import NodeSpec

_LONGEST_PAUSE_S = 5.0
_CLOSING_S = 4.0
_LONGEST_LINE = 1 << 20


class LocalNursery:
    """Keeps the nursery running.

    Args:
        run: the master's run.
        on_event: told of ``nursery_lost`` with the last words of one that ended.
    """

    def __init__(self, run: str, on_event: Callable[[str, dict[str, object]], None]) -> None:
        self._run = run
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._nodes: dict[str, bytes] = {}
        self._session: int | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def open(self) -> None:
        """Start it, in the background."""
        self._task = asyncio.ensure_future(self._keep())

    def start(self, spec: NodeSpec) -> None:
        """Have that node live from now on."""
        self._nodes[spec.node_id] = pickle.dumps(spec)
        self._tell("start", spec.node_id, self._nodes[spec.node_id])

    def ends_with_us(self, session: int) -> None:
        """Have that session end with the master, however the master ends; nothing is left of an earlier session."""
        self._session = session
        self._tell("session", session)

    async def close(self) -> None:
        """End it with all nodes; those that the master has told to end have a second for that."""
        task, self._task = self._task, None
        if task is None:
            return
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    await process.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _tell(self, *order: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(frame(order))

    async def _keep(self) -> None:
        pause_s = 0.05
        while True:
            began = asyncio.get_running_loop().time()
            try:
                last_words = await self._live()
            except (OSError, ValueError) as error:  # no process to be had, or a line of its errors without end
                last_words = str(error)
            if self._task is None:
                return
            self._on_event("nursery_lost", {"why": last_words})
            pause_s = 0.05 if asyncio.get_running_loop().time() - began > 10 else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _live(self) -> str:
        """One life of the process; returns its last words."""
        words, environment = command()
        process = self._process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(frame(Begin(self._run, local=True)))
            if self._session is not None:
                self._tell("session", self._session)
            for node_id, spec in self._nodes.items():
                self._tell("start", node_id, spec)
            lines: deque[bytes] = deque(maxlen=1)
            async for line in process.stderr:
                lines.append(line)
            await process.wait()
        finally:
            self._process = None
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        return b"".join(lines).decode(errors="replace").strip()[:500] or f"exit status {process.returncode}"
