"""Fields of Records: compiled code reads back its own writes, and an index never counts from the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from worker.jit import jit
from worker.jit.fields import sixteen_equal
from worker.jit.memory import aligned_empty, aligned_zeros, fields_of

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
    """Write and read fields of all kinds in turn, also of one shape, and see each write at once."""
    total = 0
    for i in range(number):
        record.wide[i & 7] = total
        record.twin[i & 7] = record.wide[(i * 3) & 7] + 1
        record.bytes[i & 7] = -(i & 63)
        record.unsigned[np.uint64(1)] += np.uint64(i)
        record.one += record.bytes[i & 7]
        total += record.twin[(i * 5) & 7] + record.one
    return total


def test_fields_hold_written_values() -> None:
    compiled, plain = (aligned_zeros(1, DTYPE).view(np.recarray)[0] for _ in range(2))
    with np.errstate(over="ignore"):  # the sum wraps around in both
        assert shuffle(compiled, 300) == shuffle.py_func(plain, 300)
    assert compiled.tobytes() == plain.tobytes()


def test_an_index_outside_of_a_field_is_refused_in_checking_mode(tmp_path: Path) -> None:
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


def test_python_reads_and_writes_the_same_memory() -> None:
    @jit()
    def double(record, i):  # type: ignore[no-untyped-def]
        record.one *= 2
        record.wide[i] *= 2

    memory = aligned_zeros(1, DTYPE)
    fields = fields_of(memory)
    fields.one[0], fields.wide[3] = 21, 4
    double(memory.view(np.recarray)[0], 3)
    assert (fields.one[0], fields.wide.tolist()) == (42, [0, 0, 0, 8, 0, 0, 0, 0])
    assert {name: len(field) for name, field in vars(fields).items()} == {
        "bytes": 8,
        "wide": 8,
        "twin": 8,
        "unsigned": 3,
        "one": 1,
    }


def test_sixteen_words_are_compared_at_once() -> None:
    @jit()
    def equal(record, index, word):  # type: ignore[no-untyped-def]
        return sixteen_equal(record.words, index, word)

    memory = aligned_zeros(1, np.dtype([("before", np.uint64, (16,)), ("words", np.uint64, (32,))]))
    memory["words"][0] = np.arange(32) % 5
    memory["before"] = 7
    record = memory.view(np.recarray)[0]
    for index in range(17):
        found = sum(1 << i for i in range(16) if (index + i) % 5 == 3)
        assert equal(record, index, np.uint64(3)) == found
        assert equal(record, index, np.uint64(1 << 63)) == 0
    # An index before the field is the caller's responsibility: it reads the memory there.
    assert equal(record, -16, np.uint64(7)) == 0xFFFF


def test_memory_begins_a_cache_line() -> None:
    for make in (aligned_zeros, aligned_empty):
        assert make((3, 5), np.int16).ctypes.data % 64 == 0
        assert make((3, 5), np.int16).shape == (3, 5)
