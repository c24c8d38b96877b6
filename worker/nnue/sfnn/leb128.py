"""Signed LEB128 numbers of 16 bits, in which SFNN files store the feature transformer.

Each byte has seven bits of a number, the lowest first; bit 7 is set in all but the last. A network has 130
million numbers: hence compiled loops.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import types

from worker.nnue.sfnn.jit import APART, jit

_CHUNK: Final = 1 << 20
_DECODE: Final = (types.Array(types.uint8, 1, "C", readonly=True), types.int16[::1])
_MOST: Final = 3
"""Maximum number of bytes of a 16-bit number."""


def count_numbers(data: npt.NDArray[np.uint8]) -> int:
    """The count of numbers in these bytes."""
    return sum(int(np.count_nonzero(data[at : at + _CHUNK] < 0x80)) for at in range(0, len(data), _CHUNK))


def decode(data: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.int16]:
    """The numbers of these bytes, int16 [count].

    Raises:
        ValueError: there are not ``count`` of them, or one has more than 16 bits; the message names the byte.
    """
    found = count_numbers(data)
    if found != count or (len(data) and data[-1] >= 0x80):
        raise ValueError(f"{found} whole numbers in {len(data)} bytes, expected {count}")
    numbers = np.empty(count, np.int16)
    if not _decode.overloads:
        with APART.one_at_a_time():
            _decode.compile(_DECODE)
    data = data.view()
    data.flags.writeable = False
    wrong = _decode(data, numbers)
    if wrong >= 0:
        raise ValueError(f"byte {wrong}: a number of more than 16 bits")
    return numbers


@jit()
def _decode(data: Any, numbers: Any) -> Any:
    """The offset of the first number of more than 16 bits, -1 for none."""
    at = 0
    for i in range(len(numbers)):
        start = at
        byte = np.int64(data[at])
        at += 1
        value = byte & 0x7F
        bits = 7
        while byte & 0x80:
            if bits == 7 * _MOST:
                return start
            byte = np.int64(data[at])
            at += 1
            value |= (byte & 0x7F) << bits
            bits += 7
        if byte & 0x40:
            value -= 1 << bits
        if value < -(1 << 15) or value >= 1 << 15:
            return start
        numbers[i] = np.int16(value)
    return -1


def encode(numbers: npt.NDArray[np.int16]) -> bytes:
    """The bytes of these numbers, each with as few bytes as it needs."""
    flat = np.ascontiguousarray(numbers).reshape(-1)
    room = np.empty(_MOST * min(len(flat), _CHUNK), np.uint8)
    parts = []
    for at in range(0, len(flat), _CHUNK):
        parts.append(room[: _encode(flat[at : at + _CHUNK], room)].tobytes())
    return b"".join(parts)


@jit()
def _encode(numbers: Any, target: Any) -> Any:
    """Write the numbers to ``target`` and return their count of bytes."""
    at = 0
    for i in range(len(numbers)):
        value = np.int64(numbers[i])
        while value < -64 or value > 63:
            target[at] = np.uint8(value & 0x7F | 0x80)
            value >>= 7
            at += 1
        target[at] = np.uint8(value & 0x7F)
        at += 1
    return at
