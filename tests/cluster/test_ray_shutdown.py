"""How fleets end: by a signal, or because they cannot begin."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.api import FleetError, SearchRequest
from cluster.ray_driver import RaySearcher
from tests.cluster.engines import broken_engine, endless_engine
from tests.cluster.heard import Heard
from tests.cluster.processes import alive
from worker.engine import STARTPOS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90), pytest.mark.usefixtures("warm")]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_no_process_is_left_behind(number: signal.Signals) -> None:
    """Ctrl-C goes to the whole process group, as a terminal sends it. After SIGKILL Ray's process notices
    and ends the rest.
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
    started, searching = (list(map(int, program.stdout.readline().split()[1:])) for _ in range(2))
    assert len(searching) == 3, program.stderr.read()
    assert set(searching) < set(started)
    if number is signal.SIGINT:
        os.killpg(program.pid, number)
    else:
        program.send_signal(number)
    program.wait(15)
    assert number is signal.SIGKILL or program.returncode == 0
    deadline = time.monotonic() + 20
    while any(map(alive, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in started if alive(pid)]
    assert program.stdout.read() + program.stderr.read() == ""


def test_an_engine_that_cannot_be_made_says_why() -> None:
    async def play() -> None:
        searcher = RaySearcher(nodes=1, engine=broken_engine, fallback=endless_engine)
        with pytest.raises(FleetError, match=r"a node cannot start: .*no such net: x\.bin"):
            await searcher.open(Heard().listener())
        with pytest.raises(FleetError, match="not open"):
            searcher.start(SearchRequest(1, STARTPOS, nodes=100))

    asyncio.run(play())
