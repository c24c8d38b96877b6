"""Runs the ``gougi`` command for a test: another process, its own folder, no settings of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from benchmarks.nemesis.processes import MARK, marked
from tests.master.forks import Server

ROOT = Path(__file__).resolve().parents[2]
GOUGI = (sys.executable, "-m", "gougi")
_forks: Server | None = None


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without settings of Gougi's; the compiled code's cache stays in place."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOUGI_")}
    if "GOUGI_CACHE_DIR" in os.environ:
        kept["GOUGI_CACHE_DIR"] = os.environ["GOUGI_CACHE_DIR"]
    usual = {
        "GOUGI_PAGE_LISTEN": "off",  # the tests of the live page set it themselves
        "GOUGI_CLUSTER_OVERSUBSCRIBE": "true",  # any number of nodes, on any machine
    }
    return {**kept, **usual, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(home), **(extra or {})}


def gougi(
    *words: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
    timeout_s: float = 240,
    stdout: IO[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``gougi WORDS`` in ``cwd`` to its end; ``text`` is its standard input. Its output may go to a file."""
    begins_with = environment(cwd, env)
    server = _server()
    if not server.fits(begins_with):
        return subprocess.run(
            [*GOUGI, *words],
            cwd=cwd,
            env=begins_with,
            input=text or "",
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    reads, writes = os.pipe()
    with open(reads) as given, tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        with open(writes, "w") as giving:
            giving.write(text or "")  # a pipe holds more than any test sends
        streams = [given.fileno(), (stdout or said).fileno(), errors.fileno()]
        code = server.run(words, cwd, begins_with, streams, timeout_s)
        said.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([*GOUGI, *words], code, said.read(), errors.read())


def _server() -> Server:
    """Find or start this process's fork server for commands."""
    global _forks
    if _forks is None or not _forks.usable:
        _forks = Server(ROOT, environment(ROOT))
    return _forks


class Running:
    """``gougi WORDS`` in a new process group, as a shell starts it, with its output available while it runs."""

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [*GOUGI, *words],
            cwd=cwd,
            env={**environment(cwd, env), MARK: self.mark, "PYTHONUNBUFFERED": "1"},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A test runner in the background may ignore Ctrl-C, which its children would inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str, timeout_s: float = 200) -> str:
        """Wait for a line that contains ``text``; returns it."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                left = deadline - time.monotonic()
                if left <= 0 or not self._reader.is_alive():
                    raise AssertionError(f"no line with {text!r} came:\n{self.output}")
                self._changed.wait(min(left, 0.5))

    def press_ctrl_c(self) -> None:
        """SIGINT to the whole process group, as a terminal sends it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self, timeout_s: float = 120) -> int:
        """Wait for the end; returns the exit code."""
        code = self.process.wait(timeout_s)
        self._reader.join(5)
        return code

    def left_behind(self, patience_s: float = 1.0) -> dict[int, str]:
        """Descendants of this process that still run: id and command line."""
        deadline = time.monotonic() + patience_s
        while (found := marked(self.mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def kill(self) -> None:
        """End all that is left, for the next test."""
        for pid in (self.process.pid, *marked(self.mark)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()
