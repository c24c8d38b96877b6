"""The zero-vote fallback: a node in a process of its own on the master's machine.

A process and not a thread: an engine that crashes, or holds Python's lock, cannot hurt the master. Not under Ray: it is
for the case that Ray or every node is gone.

While nodes live its searches have the lowest priority; the moment it is the only one left they have the usual one, or a
busy machine would starve it (`cluster.coordination.jobs.fallback_job`). Priorities count within a session only where
the kernel shares the cores between sessions (``sched_autogroup``), and Ray's nodes have theirs: so on their machine its
work is bounded besides.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable

from cluster.node.process import NodeSpec

_LONGEST_PAUSE_S = 10.0


class Fallback:
    """Keeps the fallback's process running.

    Args:
        on_event: told of ``fallback_failed`` with the last words of a process that ended.
    """

    def __init__(self, spec: NodeSpec, on_event: Callable[[str, dict[str, object]], None]) -> None:
        self._spec = spec
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Start the process in the background; it reports itself on the channel when it can search."""
        self._task = asyncio.ensure_future(self._keep())

    async def close(self) -> None:
        """End the process: by the end of its input, or after a second by force."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = 0.5
        while True:
            began = asyncio.get_running_loop().time()
            try:
                last_words = await self._run()
            except (OSError, ValueError) as error:  # no process to be had, or a line of its errors without end
                last_words = str(error)
            self._on_event("fallback_failed", {"why": last_words})
            pause_s = 0.5 if asyncio.get_running_loop().time() - began > 60 else min(pause_s * 2, _LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)

    async def _run(self) -> str:
        """One life of the process; returns its last words."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cluster.node.process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(pickle.dumps(self._spec))
            lines: deque[bytes] = deque(maxlen=1)
            async for line in process.stderr:
                lines.append(line)
            await process.wait()
        finally:
            await _end(process)
        return b"".join(lines).decode(errors="replace").strip()[:500] or f"exit status {process.returncode}"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(1.0):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
