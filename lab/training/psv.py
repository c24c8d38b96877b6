"""The common file format of training positions (``.psv``): records of 40 bytes, YaneuraOu's ``PackedSfenValue``.

Little endian: a PackedSfen of 32 bytes (`lab.selfplay.walk`), int16 score and uint16 move of the side to move, uint16
number of the move in its game, int8 result (1: the side to move wins, -1: it loses, 0: a draw), a byte of padding. A
move has its target in bits 0..6, its origin or the piece dropped in 7..13; bit 14: a drop, 15: a promotion.

Files are many gigabytes: one is used in blocks of `BLOCK` positions, each a separate source, and never read as a whole.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.jit import SOURCES
from lab.selfplay.walk import QUIET_SCORE, RECORD, RECORD_DTYPE, write_record
from lab.training.replay import VALIDATION, unpack
from worker.jit import jit_of
from worker.jit.memory import aligned_zeros, ld16, ldu8, ldu16
from worker.shogi import Position, SfenError
from worker.shogi.attacks import in_check, update_checks

SUFFIX: Final = ".psv"
PSV_DTYPE: Final = np.dtype(
    [
        ("sfen", np.uint8, (32,)),
        ("score", "<i2"),
        ("move", "<u2"),
        ("ply", "<u2"),
        ("result", np.int8),
        ("padding", np.uint8),
    ]
)
PSV: Final = PSV_DTYPE.itemsize
assert PSV == 40
BLOCK: Final = 1 << 20
_RUN: Final = 128
"""Consecutive positions that are all for training or all for validation: in an unshuffled file, most of a game."""
_MOST_BAD: Final = 0.05
"""Share of the positions of a block that may be unusable: those of handicap games have too few pieces."""
_DRAWS: Final = 10
"""Draws for each position wanted: some are drawn twice, others are unusable."""
_MOST_FAILED: Final = 1000
"""Draws without any position after which a file is no PSV."""
_SCORE_AT, _MOVE_AT, _RESULT_AT = 32, 34, 38
_DROP, _PROMOTE = 1 << 14, 1 << 15

# Compiled separately from the laboratory's other code, which does not use it.
jit, _FOLDER = jit_of("psv", (*SOURCES, Path(__file__)))


class PsvError(Exception):
    """A file is not a PSV, or is damaged; the text gives the reason and the position."""


@jit()
def _is_validation(number: int, below: Any) -> Any:
    """Whether the position with that number in its file is for validation."""
    value = (np.uint64(number // _RUN) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (value ^ (value >> np.uint64(31))) < below


@jit()
def _write_records(
    pos: Any, data: int, first: int, count: int, tables: int, below: Any, part: int, decided: int, out: int, told: Any
) -> Any:
    """Write a record of each selected position; returns their number.

    Args:
        pos: a position to work in.
        data: address of ``count`` positions, of which the first has the number ``first`` in its file.
        tables: of `worker.nnue.features.tables` of K+P.
        below, part, decided: as for `lab.training.replay.replay_games`.
        out: address of [count] of `RECORD_DTYPE`.
        told: output, int64 [2]: number of unusable positions, and the number of the first.
    """
    kept: Any = np.int64(0)
    for i in range(count):
        if _is_validation(first + i, below) != (part == VALIDATION):
            continue
        entry = data + i * PSV
        if not unpack(pos, entry):
            if told[0] == 0:
                told[1] = first + i
            told[0] += 1
            continue
        update_checks(pos)
        score = ld16(entry + _SCORE_AT)
        move = ldu16(entry + _MOVE_AT)
        result = ldu8(entry + _RESULT_AT)  # a signed byte
        result = result - 256 if result > 127 else result
        captures = (move & _DROP) == 0 and move != 0 and pos.board[min(move & 127, 80)] != 0
        if in_check(pos) or captures or (move & _PROMOTE) != 0 or (decided == 0 and abs(score) >= QUIET_SCORE):
            continue
        target = out + kept * RECORD
        if not write_record(pos, tables, target, score, min(max(result, -1), 1)):
            told[0] += 1
            continue
        kept += 1
    return kept


def _count(path: Path) -> int:
    """The number of positions of a file; raises as `blocks`."""
    size = path.stat().st_size
    if size == 0 or size % PSV:
        raise PsvError(f"{path}: {size:,} bytes: a PSV file has {PSV} for each position")
    return size // PSV


def sample(path: Path, count: int, seed: int | str) -> list[str]:
    """SFENs of ``count`` different positions of a file at random, fewer if it has no more.

    The same seed gives the same, and a greater count begins with those of a smaller one. Only the parts of the file
    that are drawn are read.

    Mated positions and those of handicap games are left out.

    Raises:
        PsvError: it is no PSV file, or has hardly a usable position.
        OSError: it cannot be read.
    """
    total = _count(path)
    entries = np.memmap(path, PSV_DTYPE, "r")
    rng, packed = random.Random(seed), aligned_zeros(PSV + 8, np.uint8)
    found: dict[int, str] = {}
    for tried in range(_DRAWS * min(count, total)):
        if len(found) >= min(count, total):
            break
        if tried == _MOST_FAILED and not found:
            raise PsvError(f"{path}: {tried} of {tried} entries are no positions of 40 pieces")
        entry = entries[rng.randrange(total)]
        packed[:PSV] = np.frombuffer(entry.tobytes(), np.uint8)
        position = Position.startpos()
        if not unpack(position.record, packed.ctypes.data):
            continue
        try:
            board = position.sfen().rpartition(" ")[0]
            position = Position.from_sfen(f"{board} {max(1, int(entry['ply']))}")
        except SfenError:
            continue
        if not position.is_mated():
            found.setdefault(position.key, position.sfen())
    if not found:
        raise PsvError(f"{path}: it has no usable position")
    return list(found.values())


def blocks(path: Path) -> Iterator[int]:
    """The numbers of the positions at which the blocks of a file begin.

    Raises:
        PsvError: its size is not that of a PSV file.
        OSError: it cannot be read.
    """
    yield from range(0, _count(path), BLOCK)


class Block:
    """Consecutive positions of a file.

    Raises (constructor):
        OSError: they cannot be read.
    """

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.first = first
        self._entries = np.fromfile(path, PSV_DTYPE, BLOCK, offset=first * PSV)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        return hashlib.sha256(self._entries.tobytes()).hexdigest()

    def records(
        self, position: Any, tables: npt.NDArray[np.uint8], below: Any, part: int, decided: bool
    ) -> npt.NDArray[np.void]:
        """Records of its quiet positions for training or validation, `RECORD_DTYPE` [n]; arguments as for
        `_write_records`.

        Raises:
            PsvError: too many of them are unusable.
        """
        # The bits of a position's hands are read two bytes at a time, the last one together with the following byte.
        entries = self._entries
        found = np.zeros(max(1, len(entries)), RECORD_DTYPE)
        told = np.zeros(2, np.int64)
        kept = _write_records(
            position, entries.ctypes.data, self.first, len(entries), tables.ctypes.data, below, part, int(decided),
            found.ctypes.data, told,
        )  # fmt: skip
        if told[0] > max(2, _MOST_BAD * len(entries)):
            bad = f"{told[0]:,} of {len(entries):,} entries are no positions of 40 pieces"
            raise PsvError(f"{self.path}: {bad}, the first is number {told[1]}")
        return found[:kept].copy()
