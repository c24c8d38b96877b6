"""The master's child processes, which are restarted, after a pause, when they end: the fork server of a fleet of one
machine, and the fallback.

The **fallback** is a node without a vote, which answers if no node does. It is a process and not a thread, so an engine
that crashes or holds Python's lock cannot hurt the master. It is for the case that all nodes, and Ray, are gone.

While nodes live, its searches have the lowest priority. As soon as it is the only one left, they have normal priority,
or a busy machine would starve it (`cluster.coordination.jobs.fallback_job`). Priorities count within a session only if
the kernel shares the cores between sessions (``sched_autogroup``), and nodes have their own sessions. So on the nodes'
machine it begins only if they report no line soon, and its work is limited.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import secrets
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from cluster.machine.processes import child_environment
from cluster.network.frames import frame
from cluster.node.fork_server_link import Begin, command
from cluster.node.process import NodeSpec

_LONGEST_LINE: Final = 1 << 20
"""The most bytes in one line of its stderr."""


class KeptProcess(ABC):
    """Keeps a process running, which ends by itself when its standard input closes. Each subclass sends a new process
    its first input (`_begin`).

    Args:
        command: the command line as words.
        environment: its variables.
        on_end: called with the last words of a process that ended.
    """

    pause_s: ClassVar[float]
    """Seconds before the next start; doubled after a run shorter than ``good_run_s``, up to ``longest_pause_s``."""
    longest_pause_s: ClassVar[float]
    good_run_s: ClassVar[float]
    closing_s: ClassVar[float]
    """Seconds in which it has to end after its input has closed."""
    own_session: ClassVar[bool]
    """Whether it leads a session of its own, so that Ctrl-C does not reach it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], on_end: Callable[[str], None]) -> None:
        self._command = command
        self._environment = environment
        self._on_end = on_end
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    def _begin(self, to: asyncio.StreamWriter) -> None:
        """Send a new process its first input, on its standard input."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def open(self) -> None:
        """Start the process, in the background."""
        self._task = asyncio.ensure_future(self._keep())

    async def close(self) -> None:
        """End the process: close its input, and kill it after ``closing_s``. Idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.closing_s):
                    await process.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = self.pause_s
        while True:
            began = asyncio.get_running_loop().time()
            try:
                last_words = await self._run()
            except (OSError, ValueError) as error:  # no process can be started, or a line of its stderr is too long
                last_words = str(error)
            if self._task is None:
                return
            self._on_end(last_words)
            good = asyncio.get_running_loop().time() - began > self.good_run_s
            pause_s = self.pause_s if good else min(pause_s * 2, self.longest_pause_s)
            await asyncio.sleep(pause_s)

    async def _run(self) -> str:
        """Run the process once; returns its last words."""
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            start_new_session=self.own_session,
            limit=_LONGEST_LINE,
        )
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            self._begin(process.stdin)
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


class LocalForkServer(KeptProcess):
    """Keeps the fork server running. When it ends, all nodes end; those that the master has dismissed get one second.

    Args:
        on_event: called with ``fork_server_lost`` and the last words of a fork server that ended.
    """

    pause_s, longest_pause_s, good_run_s = 0.05, 5.0, 10.0
    closing_s = 4.0
    own_session = True

    def __init__(self, on_event: Callable[[str, dict[str, object]], None]) -> None:
        super().__init__(*command(), lambda why: on_event("fork_server_lost", {"why": why}))
        self.run = secrets.token_hex(8)
        """The master's run: a fork server uses it to find the nodes of its predecessor."""
        self._nodes: dict[str, bytes] = {}

    def start(self, spec: NodeSpec) -> None:
        """Start that node and keep it alive from now on."""
        self._nodes[spec.node_id] = pickle.dumps(spec)
        self._tell("start", spec.node_id, self._nodes[spec.node_id])

    def _begin(self, to: asyncio.StreamWriter) -> None:
        to.write(frame(Begin(self.run, local=True)))
        for node_id, spec in self._nodes.items():
            self._tell("start", node_id, spec)

    def _tell(self, *order: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(frame(order))


class Fallback(KeptProcess):
    """Keeps the fallback's process running. It reports on the channel when it can search.

    Args:
        on_event: called with ``fallback_failed`` and the last words of a process that ended.
    """

    pause_s, longest_pause_s, good_run_s = 0.5, 10.0, 60.0
    closing_s = 1.0
    own_session = False

    def __init__(self, spec: NodeSpec, on_event: Callable[[str, dict[str, object]], None]) -> None:
        command = (sys.executable, "-m", "cluster.node.process")
        super().__init__(command, child_environment(), lambda why: on_event("fallback_failed", {"why": why}))
        self._spec = spec

    def _begin(self, to: asyncio.StreamWriter) -> None:
        to.write(pickle.dumps(self._spec))
