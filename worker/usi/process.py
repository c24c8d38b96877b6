"""A USI engine's process: start and handshake, lines both ways, stderr drained, a clean end.

One thread reads stdout into a queue, another empties stderr: gpsusi writes 1.7 KB of it a search and stands still once
the pipe is full. The engine runs in a session of its own, so Ctrl-C at the terminal reaches it through us only, and
`kill` takes its children along.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Final

from worker.engine import EngineError
from worker.usi.lines import parse_option
from worker.usi.options import Option

_STDERR_LINES: Final = 5
_EVERY_ENGINE: Final = ("USI_Hash", "USI_Ponder")
"""Options that USI grants without an announcement."""
_QUIT_S: Final = 1.0


_SECRETS = frozenset({"GOUGI_CSA_PASSWORD", "GOUGI_PAGE_TOKEN", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"})
"""Environment variables that are nothing to a program of others."""


class UsiProcess:
    """A running engine that has said ``usiok``.

    Args:
        command: the program and its arguments.
        start_timeout_s: how long ``usiok`` may take.
        folder: the working directory; None: ours.

    Raises:
        EngineError: the program cannot be started, dies, or says no ``usiok`` in time.
    """

    def __init__(self, command: Sequence[str], start_timeout_s: float, folder: str | None = None) -> None:
        self.label = shlex.join(command)
        self.name = ""
        self.options: dict[str, Option] = {}
        self._errors: deque[str] = deque(maxlen=_STDERR_LINES)
        self._complaint = ""
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._write_lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                process_group=0,  # Ctrl-C is not for it; in our session, so that whoever ends that ends it too
                env={name: value for name, value in os.environ.items() if name not in _SECRETS},
            )
        except (OSError, ValueError) as error:
            raise EngineError(f"{self.label}: cannot be started: {error}") from error
        readers = ((self._process.stdout, self._read_lines), (self._process.stderr, self._read_errors))
        self._threads = [threading.Thread(target=read, args=(pipe,), daemon=True) for pipe, read in readers]
        for thread in self._threads:
            thread.start()
        try:
            self.send("usi")
            self._hear_out("usiok", start_timeout_s)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def _read_lines(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            self._lines.put(line.decode("utf-8", "replace").strip())
        self._lines.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._errors.append(text[:300])

    def _hear_out(self, last: str, timeout_s: float) -> None:
        """Read up to the line ``last``, noting name and options on the way."""
        deadline = time.monotonic() + timeout_s
        while (line := self.receive(deadline)) != last:
            if line is None:
                if time.monotonic() >= deadline:
                    raise EngineError(f"{self.label}: no {last} within {timeout_s:g} s{self._said()}")
            elif line.startswith("info string error"):
                # USI engines have no other way to report an error while they get ready.
                self._complaint = f"; {line.removeprefix('info string ')[:300]}"
            elif line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif (announced := parse_option(line)) is not None:
                name, self.options[name] = announced

    def send(self, line: str) -> None:
        """Send one line.

        Raises:
            EngineError: the engine is dead.
        """
        try:
            with self._write_lock:
                assert self._process.stdin is not None
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self.death() from error

    def receive(self, deadline: float | None) -> str | None:
        """The next line; None once ``deadline`` (of ``time.monotonic``) is past, after `wake`, and for an empty line.

        Raises:
            EngineError: the engine died.
        """
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)  # whoever asks again hears of the death too
            raise self.death()
        return line or None

    def wake(self) -> None:
        """Let a waiting `receive` return."""
        self._lines.put("")

    def ready(self, timeout_s: float) -> None:
        """Send ``isready`` and wait for ``readyok``; lines before it are dropped.

        Raises:
            EngineError: the engine died, or is not ready in time.
        """
        self.send("isready")
        self._hear_out("readyok", timeout_s)

    def set_options(self, options: Mapping[str, str]) -> None:
        """Set options by their announced names, all checked before the first is sent.

        Raises:
            EngineError: the engine has no such option, or it does not allow the value.
        """
        for name, value in options.items():
            option = self.options.get(name)
            if option is None and name not in _EVERY_ENGINE:
                known = ", ".join(sorted(self.options)) or "none"
                raise EngineError(f"{self.label}: no option {name!r}; it has: {known}")
            fault = None if option is None else option.fault(name, value)
            if fault is not None:
                raise EngineError(f"{self.label}: {fault}")
        for name, value in options.items():
            option = self.options.get(name)
            button = option is not None and option.kind == "button"
            self.send(f"setoption name {name}" if button else f"setoption name {name} value {value}")

    def death(self) -> EngineError:
        """An error that says how an engine that closed its output ended, and what it said last."""
        try:
            code = self._process.wait(timeout=_QUIT_S)
        except subprocess.TimeoutExpired:
            return EngineError(f"{self.label}: closed its output without ending{self._said()}")
        self._threads[1].join(_QUIT_S)
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return EngineError(f"{self.label}: {how}{self._said()}")

    def _said(self) -> str:
        return self._complaint + (f"; stderr: {' | '.join(self._errors)}" if self._errors else "")

    def quit(self) -> None:
        """Ask the engine to end, and make sure that it did. No zombie is left."""
        with contextlib.suppress(EngineError):
            self.send("quit")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_QUIT_S)
        self.kill()

    def kill(self) -> None:
        """End the engine and its children at once, and collect it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(_QUIT_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
