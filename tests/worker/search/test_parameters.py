"""Vectors as text, and the constants that they change."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from worker.search import parts
from worker.search.parameters import VectorError, parse_vector, values_of, vector_text, with_vector

CONSTANTS = {"ONE": 1, "TWO": (2, -3, 4), "TEXT": "x", "SHARE": 0.5, "lower": 7, "_HIDDEN": 8}


def test_whole_numbers_are_named_those_in_tuples_by_their_place() -> None:
    assert values_of(CONSTANTS) == {"ONE": 1, "TWO[0]": 2, "TWO[1]": -3, "TWO[2]": 4}


def test_written_files_are_read_again() -> None:
    vector = {"ONE": -5, "TWO[1]": 30}
    assert parse_vector(vector_text(vector)) == vector
    assert parse_vector(" ONE = -5 ,TWO[1]=30,") == vector
    assert parse_vector("") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ONE", "'ONE' is not NAME=NUMBER"),
        ("ONE=1.5", "'ONE=1.5' is not"),
        ("one=1", "'one=1' is not"),
        ("ONE=1,ONE=2", "ONE is there twice"),
        ("ONE=99999999999", "too large"),
    ],
)
def test_what_is_no_vector_is_named(text: str, words: str) -> None:
    with pytest.raises(VectorError, match=words):
        parse_vector(text)


def test_constants_change_tuples_as_a_whole() -> None:
    changed = with_vector(CONSTANTS, {"ONE": 9, "TWO[0]": 5, "TWO[2]": 6})
    assert changed == {"ONE": 9, "TWO": (5, -3, 6)}
    assert CONSTANTS["TWO"] == (2, -3, 4)
    for name in ("THREE", "TWO", "TWO[3]", "TEXT"):
        with pytest.raises(VectorError, match="no parameter of the search"):
            with_vector(CONSTANTS, {name: 1})


VALUES = (
    "from worker.jit import cache_dir; from worker.search import parameters as p;"
    "print(p.LATE_MOVES, p.BONUS, cache_dir().name)"
)


def ask(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_other_values_have_a_cache_of_their_own() -> None:
    own, other = (
        ask(VALUES, GOUGI_PARAMETERS="").stdout.split(),
        ask(VALUES, GOUGI_PARAMETERS="LATE_MOVES=5,BONUS[0]=200").stdout.split(),
    )
    assert own[0] == "3" and other[:2] == ["5", "(200,"]
    assert own[-1] != other[-1]


def test_an_unknown_parameter_is_refused_by_name() -> None:
    result = ask(VALUES, GOUGI_PARAMETERS="CASTLING=1")
    assert result.returncode != 0
    assert "GOUGI_PARAMETERS: no parameter of the search: CASTLING" in result.stderr


PARTS = "from worker.jit import cache_dir; from worker.search import parts; print(parts.PROBCUT, cache_dir().name)"


def test_all_parts_are_in() -> None:
    assert len(parts.PARTS) == 27
    assert all(getattr(parts, name.upper()) for name in parts.PARTS)


def test_a_part_left_out_has_a_cache_of_its_own() -> None:
    whole, without = (
        ask(PARTS, GOUGI_WITHOUT="").stdout.split(),
        ask(PARTS, GOUGI_WITHOUT="probcut,singular").stdout.split(),
    )
    assert (whole[0], without[0]) == ("True", "False")
    assert whole[1] != without[1]


def test_an_unknown_part_is_refused_by_name() -> None:
    result = ask(PARTS, GOUGI_WITHOUT="probcut,castling")
    assert result.returncode != 0
    assert "GOUGI_WITHOUT names no part of the search: castling" in result.stderr
