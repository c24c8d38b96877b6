"""The SFNN layers in plain loops, for CPUs without AVX2: the same results as `vector`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import carray

from worker.jit.memory import ld32, st32
from worker.nnue.portable import _dot, _pointer32, _row16
from worker.nnue.sfnn.jit import jit

HALF_STEP: Final = 64
TAIL: Final = 0
_PADDING: Final = 32


def padded_sums(sums: int) -> int:
    """The number of sums that the first layer computes; here it is the same number."""
    return sums


padded_hidden = padded_sums


def buffer_bytes(half: int, sums: int, hidden2: int) -> tuple[int, int, int, int]:
    """Bytes of the products, the sums, and the inputs of the second and the third layer."""
    return 4 * half, 4 * sums, 2 * _padded(2 * sums), 2 * _padded(hidden2)


def _padded(inputs: int) -> int:
    return -(-inputs // _PADDING) * _PADDING


def _wide(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Each weight in 16 bits, rows padded to a multiple of 32; as bytes, [stacks, bytes]."""
    stacks, outputs, inputs = weights.shape
    rows = np.zeros((stacks, outputs, _padded(inputs)), np.int16)
    rows[..., :inputs] = weights
    return rows.reshape(stacks, -1).view(np.int8)


arrange_first = arrange_second = arrange_third = _wide


def second_inputs(sums: int) -> npt.NDArray[np.int64]:
    """By input of the second layer, the number of its sum: first squared ones, then clipped ones, plus ``sums``."""
    return np.arange(2 * sums)


@jit()
def _products(source: int, half: int, target: int) -> None:
    a, b, t = _row16(source, half), _row16(source + 2 * half, half), _row16(target, half)
    for i in range(half):
        x: Any = max(np.int16(0), min(np.int16(254), a[i]))
        y: Any = max(np.int16(0), min(np.int16(254), b[i]))
        t[i] = np.int16(np.int32(np.int32(x) * np.int32(y)) >> np.int32(9))


@jit()
def _clip(value: int) -> Any:
    clipped: Any = max(np.int64(0), min(np.int64(127), value >> 6))
    return np.int16(clipped)


@jit()
def forward(own: int, enemy: int, stack: int, sf: Any) -> Any:
    """The raw output (int64) of the stack at an address from two accumulators, by address."""
    _products(own, sf.half, sf.products)
    _products(enemy, sf.half, sf.products + 2 * sf.half)
    first, second = _row16(sf.values1, 2 * sf.sums), _row16(sf.values2, sf.hidden2)
    bias1, bias2 = carray(_pointer32(stack + sf.bias1), (sf.sums,)), carray(_pointer32(stack + sf.bias2), (sf.hidden2,))
    for i in range(sf.sums):
        value = np.int64(_dot(sf.products, stack + sf.weight1 + 4 * sf.half * i, 2 * sf.half, bias1[i]))
        st32(sf.sums_at + 4 * i, value)
        squared: Any = min(np.int64(127), (value * value) >> 19)
        first[i] = np.int16(squared)
        first[sf.sums + i] = _clip(value)
    places = (2 * sf.sums + 31) & ~31
    for i in range(sf.hidden2):
        second[i] = _clip(np.int64(_dot(sf.values1, stack + sf.weight2 + 2 * places * i, places, bias2[i])))
    inputs = (sf.hidden2 + 31) & ~31
    output = np.int64(_dot(sf.values2, stack + sf.weight3, inputs, ld32(stack + sf.bias3)))
    if sf.shortcut >= 0:
        output += ld32(sf.sums_at + 4 * sf.shortcut)
    return np.int64(np.int32(output))
