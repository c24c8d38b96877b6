"""The ends of fleets: by a signal, in good order or not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from cluster.drivers.ray_driver import RaySearcher
from cluster.machine.processes import in_session
from tests.cluster.engines import endless_engine
from tests.cluster.heard import Heard
from tests.cluster.processes import alive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150), pytest.mark.usefixtures("warm")]

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("how", ["Ctrl-C", "the master is killed", "the master and Ray's process are killed"])
def test_nothing_is_left_behind(how: str) -> None:
    """Ctrl-C goes to the whole process group, as a terminal sends it. After SIGKILL the nursery notices, and ends the
    rest: the nodes, Ray's own processes, their agents too, and Ray's folder.
    """
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.ray_program"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    said = [program.stdout.readline().split()[1:] for _ in range(4)]
    assert all(said), program.stderr.read()
    started, searching, (ray,) = (list(map(int, words)) for words in said[:3])
    folder = Path(said[3][0])
    assert folder.is_dir()
    assert len(searching) == 3
    assert set(searching) < set(started)
    if how == "Ctrl-C":
        os.killpg(program.pid, signal.SIGINT)
    else:
        for pid in (program.pid, ray) if "Ray" in how else (program.pid,):
            os.kill(pid, signal.SIGKILL)
    program.wait(15)
    assert how != "Ctrl-C" or program.returncode == 0
    deadline = time.monotonic() + 20
    while (any(map(alive, started)) or folder.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in started if alive(pid)]
    assert not folder.exists()
    assert program.stdout.read() + program.stderr.read() == ""


def test_a_fleet_that_is_closed_while_ray_starts_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by SIGTERM in a restart of Ray."""

    async def play() -> None:
        searcher, heard = RaySearcher(1, None, endless_engine, endless_engine), Heard()
        await searcher.open(heard.listener())
        supervisor = searcher._supervisor
        assert supervisor is not None and supervisor._ray is not None and supervisor._ray.pid is not None
        session = supervisor._ray.pid
        async with asyncio.timeout(60):
            while len(in_session(session)) < 3:  # noqa: ASYNC110 - processes are waited for
                await asyncio.sleep(0.02)
        await searcher.close()
        assert not in_session(session)

    # A folder of its own, for other tests' fleets come and go beside it; pytest's own are too long for a socket's path.
    with tempfile.TemporaryDirectory(prefix="own-") as own:
        monkeypatch.setattr(tempfile, "tempdir", own)
        monkeypatch.setenv("TMPDIR", own)
        asyncio.run(play())
        # A node that came as far as its status leaves the user's folder for these, empty.
        assert {path.name for path in Path(own).rglob("*")} <= {f"gougi-status-{os.getuid()}"}
