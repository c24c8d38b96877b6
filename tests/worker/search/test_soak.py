"""The short form of `benchmarks.soak`: the engine as a process, interrupted at random."""

from __future__ import annotations

import pytest

from benchmarks.soak import COMMAND, report, soak_positions
from benchmarks.usi_dialogue import Dialogue
from worker.usi.process import UsiProcess

pytestmark = pytest.mark.slow


def test_random_positions_and_interruptions() -> None:
    assert report(Dialogue(UsiProcess(COMMAND, 60)), 20, lambda it: soak_positions(it, 4, 0, 20, ["1", "16"])) == 0
