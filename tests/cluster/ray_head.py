"""Ray's head on this machine, by `ray start --head`, for the tests: with a token, and restarted if it ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.machine.processes import command_of, end_session, in_session

RAY = Path(sys.executable).with_name("ray")


@dataclass(frozen=True, slots=True)
class Head:
    """The head, and the address and token of its cluster."""

    address: str
    token: str
    folder: Path
    session: int
    """Process group of the loop that starts it, and of all of Ray's processes."""

    def pids(self, word: str) -> list[int]:
        """Ray's processes with that word in their command."""
        return [pid for pid in sorted(in_session(self.session)) if word in command_of(pid)]

    def kill(self, word: str) -> list[int]:
        """Kill them. Returns their ids."""
        pids = self.pids(word)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return pids


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in free]


@contextlib.contextmanager
def ray_head(places: int) -> Iterator[Head]:
    """Start it with that many slots, and give this process its token; end all of it at the end."""
    token = secrets.token_hex(32)
    port, agent = _free_ports(2)
    given = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # the loopback stays the loopback
        # A raylet whose agent is not there after 15 s crashes, unseen by `ray start`, which then waits until 30 s are
        # over (https://github.com/ray-project/ray/issues/65983). The next attempt finds a machine with less to do.
        "RAY_raylet_start_wait_time_s": "20",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    before = {name: os.environ.get(name) for name in given}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ.update(given)
        options = f"--port={port} --dashboard-agent-listen-port={agent}"
        options += f" --node-ip-address=127.0.0.1 --temp-dir={folder} --num-cpus=0 --include-dashboard=false --block"
        resources = f'--resources={{"searcher": {places}}}'
        command = [str(RAY), "start", "--head", *options.split(), "--object-store-memory=80000000", resources]
        # A file: a raylet's end prints 20 kB of its log, and an unread pipe would hold up the fourth start.
        said = Path(folder) / "start.log"
        with said.open("wb") as output:
            loop = subprocess.Popen(
                ["sh", "-c", 'while :; do "$@"; sleep 0.2; done', "sh", *command],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            deadline = time.monotonic() + 200
            while "Ray runtime started" not in (text := said.read_text(errors="replace")):
                assert time.monotonic() < deadline, text
                time.sleep(0.1)
            yield Head(f"127.0.0.1:{port}", token, Path(folder), loop.pid)
        finally:
            end_session(loop.pid)
            loop.kill()
            loop.wait()
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
