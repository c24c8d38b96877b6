"""Rows and layers in plain loops that LLVM vectorises for the CPU at hand: the same results as `vector`.

Layer weights are widened to int16 and kept row by row, each row padded to a multiple of 32 inputs.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import carray, types

from worker.jit import jit
from worker.jit.llvm import intrinsic, pointer
from worker.jit.memory import ld16, ld32, ld64, st16

_PADDING: Final = 32


def padded_outputs(outputs: int) -> int:
    """The number of outputs that the kernels compute for a hidden layer of ``outputs``; here it is the same number."""
    return outputs


def activation_bytes(width: int) -> int:
    """Bytes of the activations of two sides of ``width`` neurons."""
    return 4 * width


def values_bytes(outputs: int) -> int:
    """Bytes of the activations of a hidden layer, ``outputs`` as `padded_outputs` gives it."""
    return -(-outputs // _PADDING) * _PADDING * 2


def arrange_layer(
    bias: npt.NDArray[np.int32], weight: npt.NDArray[np.int8], layer: int, *, put: bool = False
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Bias and weights of layer 0, 1 (hidden) or 2 (output) in the order in which `forward` reads them.

    Args:
        put: the inputs are written by `put`, not by a layer; here the order is the same.
    """
    outputs, inputs = weight.shape
    rows = np.zeros((outputs, -(-inputs // _PADDING) * _PADDING), np.int16)
    rows[:, :inputs] = weight
    return bias, rows.ravel()


def _typed_pointer(width: int, element: Any) -> Any:
    @intrinsic(types.CPointer(element), types.int64)
    def typed_pointer(builder: Any, address: Any) -> Any:
        return pointer(builder, address, ir.IntType(width))

    return typed_pointer


_pointer16 = _typed_pointer(16, types.int16)
_pointer32 = _typed_pointer(32, types.int32)


@jit()
def _row16(address: int, length: int) -> Any:
    """The int16 array at an address. LLVM vectorises indexed access, but not loads by address."""
    return carray(_pointer16(address), (length,))


@jit()
def copy_row(target: int, source: int, row_bytes: int) -> None:
    """Copy one accumulator."""
    n = row_bytes // 2
    t, s = _row16(target, n), _row16(source, n)
    for i in range(n):
        t[i] = s[i]


@jit()
def exchange_row(target: int, source: int, row_bytes: int, added: int, removed: int) -> None:
    """target = source + added - removed, rows by address."""
    n = row_bytes // 2
    t, s, a, r = _row16(target, n), _row16(source, n), _row16(added, n), _row16(removed, n)
    for i in range(n):
        t[i] = np.int16(s[i] + a[i] - r[i])


@jit()
def exchange_two_rows(
    target: int, source: int, row_bytes: int, added: int, added2: int, removed: int, removed2: int
) -> None:
    """target = source + added + added2 - removed - removed2, rows by address."""
    n = row_bytes // 2
    t, s, a, r = _row16(target, n), _row16(source, n), _row16(added, n), _row16(removed, n)
    a2, r2 = _row16(added2, n), _row16(removed2, n)
    for i in range(n):
        t[i] = np.int16(s[i] + a[i] + a2[i] - r[i] - r2[i])


@jit()
def change_rows(
    target: int, kept: int, row_bytes: int, added: int, added_end: int, removed: int, removed_end: int
) -> None:
    """target = kept = kept + rows - other rows.

    Args:
        added, added_end: the addresses of the rows to add stand between these two.
        removed, removed_end: the addresses of the rows to subtract stand between these two.
    """
    n = row_bytes // 2
    t, k = _row16(target, n), _row16(kept, n)
    for entry in range(added, added_end, 8):
        r = _row16(ld64(entry), n)
        for i in range(n):
            k[i] = np.int16(k[i] + r[i])
    for entry in range(removed, removed_end, 8):
        r = _row16(ld64(entry), n)
        for i in range(n):
            k[i] = np.int16(k[i] - r[i])
    for i in range(n):
        t[i] = k[i]


@jit()
def _clip_row(source: int, target: int, width: int) -> None:
    """int16 [width] clipped to 0..127."""
    s, t = _row16(source, width), _row16(target, width)
    for i in range(width):
        t[i] = max(np.int16(0), min(np.int16(127), s[i]))


@jit()
def _dot(values: int, weights: int, length: int, bias: int) -> Any:
    """bias + the scalar product, in int32: wider sums would prevent vectorisation."""
    x, w = _row16(values, length), _row16(weights, length)
    total = np.int32(bias)
    for i in range(length):
        total = np.int32(total + np.int32(np.int32(x[i]) * np.int32(w[i])))
    return total


@jit()
def hidden_layer(source: int, inputs: int, bias: int, weights: int, outputs: int, target: int) -> None:
    """A hidden layer with its activation; ``inputs`` a multiple of 32."""
    b, t = carray(_pointer32(bias), (outputs,)), _row16(target, outputs)
    for i in range(outputs):
        value = _dot(source, weights + 2 * inputs * i, inputs, b[i]) >> np.int32(6)
        t[i] = np.int16(max(np.int32(0), min(np.int32(127), value)))


@jit()
def output_layer(source: int, inputs: int, bias: int, weights: int) -> Any:
    """The output (int64) of the last layer."""
    return np.int64(_dot(source, weights, inputs, ld32(bias)))


@jit()
def clear(inputs: int, length: int) -> None:
    """Zeros for inputs that `put` then writes."""
    x = _row16(inputs, length)
    for i in range(length):
        x[i] = np.int16(0)


@jit()
def put(inputs: int, number: int, value: int) -> None:
    """Write an input, 0 to 127."""
    st16(inputs + 2 * number, np.int64(value))


@jit()
def put_layer(inputs: int, number: int, bias: int, weights: int, outputs: int, target: int) -> None:
    """A hidden layer after `put`, with its activation."""
    hidden_layer(inputs, number, bias, weights, outputs, target)


@jit()
def get(inputs: int, number: int) -> Any:
    """An input, int64."""
    return ld16(inputs + 2 * number)


@jit()
def forward(own: int, enemy: int, nn: Any) -> Any:
    """The raw output (int64) from the accumulators of the side to move and of the other side, by address."""
    _clip_row(own, nn.activations, nn.width)
    _clip_row(enemy, nn.activations + 2 * nn.width, nn.width)
    hidden_layer(nn.activations, 2 * nn.width, nn.bias1, nn.weight1, nn.hidden1, nn.values1)
    hidden_layer(nn.values1, (nn.hidden1 + 31) & ~31, nn.bias2, nn.weight2, nn.hidden2, nn.values2)
    return output_layer(nn.values2, (nn.hidden2 + 31) & ~31, nn.bias3, nn.weight3)
