"""The ends of fleets: by a signal, in good order or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.processes import alive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150), pytest.mark.usefixtures("warm")]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("how", ["Ctrl-C", "the master is killed"])
def test_nothing_is_left_behind(how: str) -> None:
    """Ctrl-C goes to the whole process group, as a terminal sends it. After SIGKILL the fork server notices, and ends
    the nodes; the fallback ends by itself.
    """
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.fleet_program"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    said = [program.stdout.readline().split()[1:] for _ in range(3)]
    assert all(said), program.stderr.read()
    started, searching, (fork_server,) = (list(map(int, words)) for words in said)
    assert len(searching) == 3
    assert {*searching, fork_server} <= set(started)
    if how == "Ctrl-C":
        os.killpg(program.pid, signal.SIGINT)
    else:
        program.kill()
    program.wait(15)
    assert how != "Ctrl-C" or program.returncode == 0
    deadline = time.monotonic() + 20
    while any(map(alive, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in started if alive(pid)]
    assert program.stdout.read() + program.stderr.read() == ""
