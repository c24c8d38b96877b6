"""Parameters that may be tuned, and the build that tunes them, in processes of its own."""

from __future__ import annotations

import ast
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
from worker.search.tunable import GROUPS, NAMES, TunableError, chosen, tunable
from worker.search.vector import values_of
from worker.shogi import STARTPOS

ROOM = Path(worker.search.__file__).parent
MADE_IN_PYTHON = {"REDUCTION_LOG"}
"""Read by `worker.search.state.ThreadState.fill_logs`, not by compiled code."""


def test_every_name_is_a_parameter_once_and_in_its_range() -> None:
    assert len(set(NAMES)) == len(NAMES)
    values = values_of(vars(parameters))
    for name in NAMES:
        one = tunable(name)
        assert one.low <= one.start == values[name] <= one.high
        assert one.low < one.high and 0 < one.step <= one.high - one.low


def test_compiled_code_reads_every_one_so_that_the_tuning_build_finds_it() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOM.glob("*.py"))
    read = set(re.findall(r"\bp\.([A-Z_]+(?:\[\d\])?)", text))
    assert {name for name in NAMES if name not in read} == MADE_IN_PYTHON


def parameter_of(node: ast.expr) -> str | None:
    """The name behind ``p.NAME``, ``p.NAME[0]`` or ``np.int64(p.NAME)``; None: another expression."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.int64":
        (node,) = node.args
    match = re.fullmatch(r"p\.([A-Z_]+(\[\d\])?)", ast.unparse(node))
    return match and match[1]


def test_no_divisor_can_be_zero() -> None:
    divisors = set()
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
                divisors.add(parameter_of(node.right))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "toward_zero":
                divisors.add(parameter_of(node.args[1]))
    assert {"HISTORY_DEPTH", "REDUCTION_CORRECTION"} < divisors
    assert [name for name in NAMES if name in divisors and tunable(name).low <= 0] == []


def test_groups_names_and_ranges_of_ones_own() -> None:
    assert [one.name for one in chosen(["order"])] == list(GROUPS["order"])
    (one,) = chosen(["LATE_MOVES=1:9:2"])
    assert (one.low, one.high, one.step) == (1, 9, 2)
    both = chosen(["LATE_MOVES=1:9", "depths"])
    assert [one.name for one in both] == list(GROUPS["depths"])
    assert next(one for one in both if one.name == "LATE_MOVES").high == 9


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "nothing is to be tuned"),
        (["castling"], "castling is no parameter to tune"),
        (["GRAIN"], "GRAIN is no parameter to tune"),
        (["LATE_MOVES=4:9"], "its value, 3, is not within 4 to 9"),
        (["LATE_MOVES=1"], "expected LOW:HIGH"),
        (["LATE_MOVES=1:9:20"], "a step of 20"),
    ],
)
def test_what_cannot_be_tuned_is_named(words: list[str], why: str) -> None:
    with pytest.raises(TunableError, match=why):
        chosen(words)


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


def test_compiled_code_reads_what_is_in_force_also_out_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(READING)
    own = f"{parameters.LATE_MOVES} {parameters.BONUS[0] + parameters.BONUS[1]} 1024 {parameters.HISTORY_BUTTERFLY[1]}"
    changed = f"5 {parameters.BONUS[0] - 9} 1024 {parameters.HISTORY_BUTTERFLY[1]}"
    for hits in ("0", "1"):
        lines = in_tuning_build(FUNCTION.format(folder=str(tmp_path)), 120)
        assert [line.strip() for line in lines[:3]] == [own, changed, own]
        assert lines[3] == hits  # the second process has a table at another address


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
