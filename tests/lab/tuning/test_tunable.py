"""Search parameters that can be tuned, and their ranges."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import worker.search
from lab.tuning.spsa import SpsaError
from lab.tuning.tunable import chosen, tunable
from worker.search import parameters
from worker.search.parameters import values_of
from worker.search.tuning import GROUPS, NAMES

ROOM = Path(worker.search.__file__).parent


def test_every_name_is_a_parameter_once_and_in_its_range() -> None:
    assert len(set(NAMES)) == len(NAMES)
    values = values_of(vars(parameters))
    for name in NAMES:
        one = tunable(name)
        assert one.low <= one.start == values[name] <= one.high
        assert one.low < one.high and 0 < one.step <= one.high - one.low


def parameter_of(node: ast.expr) -> str | None:
    """The name in ``p.NAME``, ``p.NAME[0]`` or ``np.int64(p.NAME)``; None: another expression."""
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
        (["LATE_MOVES=4:9"], "LATE_MOVES is 3: expected within 4 to 9"),
        (["LATE_MOVES=1"], "expected LOW:HIGH"),
        (["LATE_MOVES=1:9:20"], "a step of 20"),
        (["LATE_MOVES=1:9:2:20"], "expected LOW:HIGH or LOW:HIGH:STEP"),
    ],
)
def test_an_untunable_parameter_is_named(words: list[str], why: str) -> None:
    with pytest.raises(SpsaError, match=why):
        chosen(words)
