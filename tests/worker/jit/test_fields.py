"""Fields of Records: what compiled code writes it reads, and an index never counts from the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from worker.jit import jit
from worker.jit.memory import aligned_zeros

DTYPE = np.dtype(
    [
        ("bytes", np.int8, (8,)),
        ("wide", np.int64, (8,)),
        ("twin", np.int64, (8,)),
        ("unsigned", np.uint64, (3,)),
        ("one", np.int64),
    ],
    align=True,
)
OUTSIDE = """
import numpy as np
from worker.jit import jit
record = np.zeros(1, np.dtype([("row", np.int64, (4,)), ("rest", np.int64)])).view(np.recarray)[0]
@jit()
def read(record, i):
    return record.row[i]
@jit()
def write(record, i):
    record.row[i] = 1
for function in (read, write):
    for i in (-1, 4, 0, 3):
        try:
            function(record, i)
            print(i, end=" ")
        except IndexError as error:
            print("refused", end=" ")
"""


@jit()
def shuffle(record, number):  # type: ignore[no-untyped-def]
    """Write and read fields of all kinds in turn, of one shape too, where each must be seen at once."""
    total = 0
    for i in range(number):
        record.wide[i & 7] = total
        record.twin[i & 7] = record.wide[(i * 3) & 7] + 1
        record.bytes[i & 7] = -(i & 63)
        record.unsigned[np.uint64(1)] += np.uint64(i)
        record.one += record.bytes[i & 7]
        total += record.twin[(i * 5) & 7] + record.one
    return total


def test_fields_hold_what_was_written() -> None:
    compiled, plain = (aligned_zeros(1, DTYPE).view(np.recarray)[0] for _ in range(2))
    with np.errstate(over="ignore"):  # the sum wraps around in both
        assert shuffle(compiled, 300) == shuffle.py_func(plain, 300)
    assert compiled.tobytes() == plain.tobytes()


def test_an_index_outside_of_a_field_is_refused_where_that_is_asked_for(tmp_path: Path) -> None:
    script = tmp_path / "outside.py"
    script.write_text(OUTSIDE)
    told = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "GOUGI_CHECK": "1", "GOUGI_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["refused", "refused", "0", "3"] * 2
