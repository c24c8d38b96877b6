"""The build whose search parameters change while it runs, in separate processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import worker.search
from tests.worker.builds import OTHER
from worker.engine import EngineError, Limits
from worker.search import parameters
from worker.search.engine import NumbaEngine
from worker.search.tuning import NAMES
from worker.shogi import STARTPOS

ROOM = Path(worker.search.__file__).parent
MADE_IN_PYTHON = {"REDUCTION_LOG"}
"""Read by `worker.search.state.ThreadState.fill_logs`, not by compiled code."""


def test_compiled_code_reads_every_one_so_that_the_tuning_build_finds_it() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOM.glob("*.py"))
    read = set(re.findall(r"\bp\.([A-Z_]+(?:\[\d\])?)", text))
    assert {name for name in NAMES if name not in read} == MADE_IN_PYTHON


def test_a_release_has_its_values_compiled_in() -> None:
    engine = NumbaEngine(1)
    with pytest.raises(EngineError, match="only the tuning build"):
        engine.set_parameters({"LATE_MOVES": 4})


def in_tuning_build(program: str, timeout_s: float) -> list[str]:
    """The lines that a program of the tuning build prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **OTHER},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FUNCTION = """
import sys
sys.path.insert(0, {folder!r})
from reading import read
from worker.search import tuning
print(*read())
with tuning.in_force(tuning.array_of(tuning.complete({{"LATE_MOVES": 5, "BONUS[1]": -9}}))):
    print(*read())
with tuning.in_force(tuning.array_of(tuning.complete({{}}))):
    print(*read())
print(len(read.stats.cache_hits))
"""
READING = """
from worker.jit import jit
from worker.search import parameters as p

@jit()
def read():
    return p.LATE_MOVES, p.BONUS[0] + p.BONUS[1], p.GRAIN, p.HISTORY_BUTTERFLY[1]
"""


def test_compiled_code_reads_the_values_in_force_also_out_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(READING)
    own = f"{parameters.LATE_MOVES} {parameters.BONUS[0] + parameters.BONUS[1]} 1024 {parameters.HISTORY_BUTTERFLY[1]}"
    changed = f"5 {parameters.BONUS[0] - 9} 1024 {parameters.HISTORY_BUTTERFLY[1]}"
    for _ in range(2):  # the second process has a table at another address
        lines = in_tuning_build(FUNCTION.format(folder=str(tmp_path)), 120)
        assert [line.strip() for line in lines[:3]] == [own, changed, own]
    assert lines[3] == "1", "out of the cache"


SEARCH = f"""
from worker.engine import Limits
from worker.search.engine import NumbaEngine
from worker.warm import warm_up

def nodes(engine):
    engine.new_game()
    engine.set_position({STARTPOS!r})
    return engine.go(Limits(depth=9)).nodes

warm_up()
one, other = NumbaEngine(4), NumbaEngine(4)
print(nodes(one))
other.set_parameters({{"LATE_MOVES": 5, "REDUCTION_LOG": 1900}})
print(nodes(other))
print(nodes(one))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tuning_build_searches_as_the_release_and_each_engine_with_its_own_values() -> None:
    engine = NumbaEngine(4)
    engine.set_position(STARTPOS)
    released = engine.go(Limits(depth=9)).nodes
    own, other, again = map(int, in_tuning_build(SEARCH, 880))
    assert own == again == released
    assert other != own
