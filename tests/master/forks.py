"""``gougi`` as a process that is forked from one which has the libraries, our modules and the compiled searcher loaded:
loading takes most of a short command's time.

The command begins like ``python -m gougi``: as a separate process with its own arguments, environment, folder and
streams, and with a normal end. Values that the interpreter, a library or one of our modules reads once from the
environment are those of the server: see `Server.fits`.

As a program it is the server: it takes requests from the socket whose number is its argument.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from typer.main import get_command

LIBRARIES: Final = (
    "msgspec",
    "numba",
    "numpy",
    "pydantic_settings",
    "rsshogi.core",
    "rsshogi.record",
    "structlog",
    "typer",
)
MODULES: Final = (
    "cluster.drivers.fleet_driver",
    "cluster.drivers.local_driver",
    "lab.strategies.records",
    "lab.training.corpus",
    "lab.tuning.folder",
    "master.analysis.session",
    "master.cli",
    "master.commands.lifetime",
    "master.config.loading",
    "master.game.loop",
    "worker.mate",
)
"""Our modules that many commands import, with their imports."""
_HEADER: Final = 8
_READ_ONCE: Final = (
    *("PYTHON", "NUMBA", "LD_", "LC_", "LANG", "MALLOC"),  # by the interpreter or a library
    *("GOUGI_CPU", "GOUGI_TUNE", "GOUGI_WITHOUT", "GOUGI_PARAMETERS", "GOUGI_CHECK"),  # by `worker.jit.options`
    *("GOUGI_CACHE", "XDG_CACHE_HOME"),
)


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that are read once."""
    return {name: value for name, value in environment.items() if name.startswith(_READ_ONCE)}


class Server:
    """The process from which commands are forked, one at a time."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._at_start = _at_start(environment)
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.master.forks", str(theirs.fileno())],
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a command with that environment would read the same variables."""
        return _at_start(environment) == self._at_start

    def run(
        self, words: Sequence[str], cwd: Path, environment: Mapping[str, str], streams: Sequence[int], timeout_s: float
    ) -> int:
        """Run ``gougi WORDS`` to its end.

        Args:
            streams: descriptors of its standard input, output and error.

        Returns:
            its exit code, as `subprocess` has it.

        Raises:
            subprocess.TimeoutExpired: it was killed.
        """
        asked = json.dumps([list(words), str(cwd), dict(environment)]).encode()
        pid = 0
        try:
            socket.send_fds(self._socket, [len(asked).to_bytes(_HEADER, "big")], list(streams))
            self._socket.sendall(asked)
            pid = self._number()
            self._socket.settimeout(timeout_s)
            code = self._number()
            self._socket.settimeout(None)
            return code
        except BaseException as error:
            self.close(pid)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(words, timeout_s) from None
            raise

    def close(self, pid: int = 0) -> None:
        """End it, and the command of that process number."""
        for each in filter(None, (pid, self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._process.wait()
        self._socket.close()

    @property
    def usable(self) -> bool:
        """Whether it lives: another test that ends processes may have ended it."""
        return self._socket.fileno() >= 0 and self._process.poll() is None

    def _number(self) -> int:
        return int.from_bytes(_exactly(self._socket, _HEADER), "big", signed=True)


def _exactly(connection: socket.socket, number: int) -> bytes:
    found = b""
    while len(found) < number:
        if not (part := connection.recv(number - len(found))):
            raise EOFError("the other side is gone")
        found += part
    return found


def _compile() -> None:
    """Compile something: at the first function numba prepares its compiler, which takes as long as its import."""
    import numba

    numba.njit("int64(int64)")(lambda number: number)


def _load_the_searcher() -> None:
    """Load its compiled code, unless it is still to be compiled: not every command needs it."""
    from worker.jit import cache_dir
    from worker.search.bench import run_bench

    if (cache_dir() / "complete").exists():
        run_bench(depth=1)


def _serve(connection: socket.socket) -> None:
    for name in (*LIBRARIES, *MODULES):
        importlib.import_module(name)
    get_command(importlib.import_module("master.cli").app)
    _compile()
    _load_the_searcher()
    gc.freeze()
    while True:
        header, streams, _, _ = socket.recv_fds(connection, _HEADER, 3)
        if not header:
            return
        words, cwd, environment = json.loads(_exactly(connection, int.from_bytes(header, "big")))
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(words, cwd, environment, streams)
        for descriptor in streams:
            os.close(descriptor)
        connection.sendall(pid.to_bytes(_HEADER, "big", signed=True))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(code.to_bytes(_HEADER, "big", signed=True))


def _become(words: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> NoReturn:
    """Continue as ``python -m gougi WORDS``."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = cwd
    sys.argv = ["gougi", *words]
    runpy.run_module("gougi", run_name="__main__", alter_sys=True)
    raise AssertionError("the command ends its process")


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _connection:
        _serve(_connection)
