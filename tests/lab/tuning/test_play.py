"""Pairs of games as tasks of real Ray, in the tuning build; a worker process is killed."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from cluster.drivers.task_pool import Opened
from lab.tuning.play import Event, PairTerms, play
from lab.tuning.state import GameSettings, PairResult, PlayError, TuningRun
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


@pytest.fixture
def terms(monkeypatch: pytest.MonkeyPatch) -> PairTerms:
    """Terms of a process of the tuning build. This process is not one; those that it starts are."""
    for name, value in OTHER.items():
        monkeypatch.setenv(name, value)
    code = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, timeout=880, check=True).stdout
    return PairTerms(GAMES, settings().names, code.strip())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_pairs_are_played_by_workers_of_ray(terms: PairTerms) -> None:
    """`tests.lab.selfplay.test_run` kills a worker of the same pool."""
    run, heard, kept = TuningRun(settings(4, GAMES), OPENINGS), list[Event](), list[PairResult]()
    with ray_head(2) as head:
        play(head.address, NETS, terms, run, kept.append, heard.append)
    assert run.finished and heard[0] == Opened(2) and len(heard) == 5
    assert sorted(result.iteration for result in kept) == list(range(4))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_other_sources_are_refused_here(terms: PairTerms) -> None:
    run = TuningRun(settings(1, GAMES), OPENINGS)
    other = PairTerms(terms.games, terms.names, "other")
    with pytest.raises(PlayError, match=r"pair 0: .*another version of Gougi"):
        play(1, NETS, other, run, lambda _: None, lambda _: None)
