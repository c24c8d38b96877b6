"""The short form of `benchmarks.soak`: the engine as a process, interrupted at random, and two games."""

from __future__ import annotations

import pytest

from benchmarks.soak import COMMAND, report, soak_games, soak_positions
from benchmarks.usi_dialogue import Dialogue
from worker.usi.process import UsiProcess

pytestmark = pytest.mark.slow


def test_random_positions_and_interruptions() -> None:
    assert report(Dialogue(UsiProcess(COMMAND, 60)), 40, lambda it: soak_positions(it, 4, 0, 40, ["1", "16"])) == 0


def test_games_in_one_process() -> None:
    assert report(Dialogue(UsiProcess(COMMAND, 60)), 2, lambda it: soak_games(it, 4, 0, 2, movetime=5)) == 0
