"""Pairs of games as tasks of real Ray, in the tuning build; a worker process is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from cluster.drivers.task_pool import Opened
from lab.tuning.play import Event, PairLost, PairTerms, play
from lab.tuning.state import GameSettings, PairResult, PlayError, TuningRun
from tests.cluster.processes import family
from tests.cluster.ray_head import ray_head
from tests.lab.tuning.runs import OPENINGS, settings
from tests.worker.builds import OTHER
from worker.nnue.network import default_file

NET = default_file().read_bytes()
NETS = (NET, NET)
GAMES = GameSettings((sha256(NET).hexdigest(),) * 2, nodes=300, hash_mb=1)

ASK = """
from lab.tuning.play import code_version
from worker.warm import warm_up

warm_up()
print(code_version())
"""


def players() -> list[int]:
    """The processes in which Ray has pairs played now."""
    found = []
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::play_pair"):
                found.append(pid)
    return found


@pytest.fixture
def terms(monkeypatch: pytest.MonkeyPatch) -> PairTerms:
    """Terms of a process of the tuning build, which this one is not; those that it starts are."""
    for name, value in OTHER.items():
        monkeypatch.setenv(name, value)
    code = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, timeout=880, check=True).stdout
    return PairTerms(GAMES, settings().names, code.strip())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_killed_worker_loses_one_pair_and_the_run_is_the_same(terms: PairTerms) -> None:
    with ray_head(2) as head:
        _kill_one(terms, head.address)


def _kill_one(terms: PairTerms, address: str) -> None:
    def played(heard: list[Event]) -> TuningRun:
        run = TuningRun(settings(8, GAMES), OPENINGS)
        kept: list[PairResult] = []
        play(address, NETS, terms, run, kept.append, heard.append)
        assert run.finished
        assert sorted(result.iteration for result in kept) == list(range(8))
        return run

    undisturbed: list[Event] = []
    first = played(undisturbed)
    assert undisturbed[0] == Opened(2) and len(undisturbed) == 9

    def kill_the_first() -> None:
        while not (running := players()):
            time.sleep(0.05)
        os.kill(running[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_the_first, daemon=True)
    killer.start()
    heard: list[Event] = []
    second = played(heard)
    killer.join(10)
    (lost,) = [event.why for event in heard if isinstance(event, PairLost)]
    assert lost == "its process died"
    assert second.spsa.path == first.spsa.path
    assert players() == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_other_sources_are_refused_here(terms: PairTerms) -> None:
    run = TuningRun(settings(1, GAMES), OPENINGS)
    other = PairTerms(terms.games, terms.names, "other")
    with pytest.raises(PlayError, match=r"pair 0: .*another version of Gougi"):
        play(1, NETS, other, run, lambda _: None, lambda _: None)
    assert players() == []
