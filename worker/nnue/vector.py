"""Rows and layers with AVX2 vectors. Compile only if `worker.jit.HAS_AVX2`.

Layer weights are arranged as int8 [block][inputs / 4][outputs of the block][4]: one 32-bit broadcast of four
activations is multiplied with the weights of all outputs of a block (8, 16 or 32, in 1, 2 or 4 registers). Packing to 8
bits operates within the 128-bit halves of a register and so leaves activations in an order of its own. The columns of
the weights are put into that order when a network is loaded, instead of the activations at every evaluation.

Two thirds of the first layer's inputs are 0, so it skips each four that are all 0 (after Stockfish's ``find_nnz``). A
network's neurons are in an order in which such fours are common (`worker.nnue.network`).

Activations of a side are in blocks of 256. After each come four zeros, which the index 64 of a four finds, and a bit
for each four of the block: set if it is not all 0.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.jit import HAS_VNNI, jit
from worker.jit.bits import ctz_or_64
from worker.jit.memory import ld32, ld64, ldu8, ldu64, st8, st64
from worker.jit.simd import (
    vadd16,
    vadd32,
    vdpbusd,
    veq32,
    vhsum32,
    vload,
    vmaddubs,
    vmaddwd,
    vmax8_0,
    vpackssdw,
    vpacksswb,
    vset1_16,
    vset1_32,
    vsra32_6,
    vstore,
    vsub16,
    vzero,
)

_VECTOR: Final = 32
_BLOCK: Final = 256
"""Number of inputs whose fours have their bits in one word."""
_BITS: Final = _BLOCK + 8
"""The offset of that word from the start of the block."""
_BLOCK_BYTES: Final = _BLOCK + 64

_LANES: Final = np.arange(_VECTOR)
_INPUT_ORDER: Final = 16 * (_LANES % 16 // 8) + 8 * (_LANES // 16) + _LANES % 8
"""After one pack of two registers of int16, byte i holds activation ``_INPUT_ORDER[i]`` of the 32."""
_HIDDEN_ORDER: Final = 8 * (_LANES % 16 // 4) + 4 * (_LANES // 16) + _LANES % 4
"""After two packs of four registers of int32, byte i holds sum ``_HIDDEN_ORDER[i]`` of the 32."""


def padded_outputs(outputs: int) -> int:
    """The number of outputs that the kernels compute for a hidden layer of ``outputs``: 8, 16 or a multiple of 32."""
    return 8 if outputs <= 8 else 16 if outputs <= 16 else -(-outputs // 32) * 32


def activation_bytes(width: int) -> int:
    """Bytes of the activations of two sides of ``width`` neurons."""
    return 2 * -(-width // _BLOCK) * _BLOCK_BYTES


def values_bytes(outputs: int) -> int:
    """Bytes of the activations of a hidden layer, ``outputs`` as `padded_outputs` gives it."""
    return -(-outputs // _VECTOR) * _VECTOR


def arrange_layer(
    bias: npt.NDArray[np.int32], weight: npt.NDArray[np.int8], layer: int, *, put: bool = False
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Bias and weights of layer 0, 1 (hidden) or 2 (output) in the order in which `forward` reads them.

    Args:
        put: the inputs are written by `put`, not by a layer.
    """
    outputs, inputs = weight.shape
    rows = outputs if layer == 2 else padded_outputs(outputs)
    columns = -(-inputs // _VECTOR) * _VECTOR
    full = np.zeros((rows, columns), np.int8)
    full[:outputs, :inputs] = weight
    order = _LANES if put else _INPUT_ORDER if layer == 0 else _HIDDEN_ORDER
    full = full.reshape(rows, columns // _VECTOR, _VECTOR)[:, :, order]
    block = min(rows, 32)
    arranged = full.reshape(rows // block, block, columns // 4, 4).transpose(0, 2, 1, 3)
    padded_bias = np.zeros(rows, np.int32)
    padded_bias[:outputs] = bias
    # The first layer reads weights for the four zeros after a block.
    padding = np.zeros((_BLOCK + 4) * block if layer == 0 and not put else 0, np.int8)
    return padded_bias, np.concatenate([arranged.ravel(), padding])


@jit()
def copy_row(target: int, source: int, row_bytes: int) -> None:
    """Copy one accumulator."""
    for i in range(0, row_bytes, 32):
        vstore(target + i, vload(source + i))


@jit()
def exchange_row(target: int, source: int, row_bytes: int, added: int, removed: int) -> None:
    """target = source + added - removed, rows by address."""
    for i in range(0, row_bytes, 32):
        vstore(target + i, vsub16(vadd16(vload(source + i), vload(added + i)), vload(removed + i)))


@jit()
def exchange_two_rows(
    target: int, source: int, row_bytes: int, added: int, added2: int, removed: int, removed2: int
) -> None:
    """target = source + added + added2 - removed - removed2, rows by address."""
    for i in range(0, row_bytes, 32):
        value = vadd16(vadd16(vload(source + i), vload(added + i)), vload(added2 + i))
        vstore(target + i, vsub16(vsub16(value, vload(removed + i)), vload(removed2 + i)))


@jit()
def change_rows(
    target: int, kept: int, row_bytes: int, added: int, added_end: int, removed: int, removed_end: int
) -> None:
    """target = kept = kept + rows - other rows, eight registers at a time.

    Args:
        added, added_end: the addresses of the rows to add stand between these two.
        removed, removed_end: the addresses of the rows to subtract stand between these two.
    """
    for i in range(0, row_bytes, 256):
        k = kept + i
        a0, a1, a2, a3 = vload(k), vload(k + 32), vload(k + 64), vload(k + 96)
        a4, a5, a6, a7 = vload(k + 128), vload(k + 160), vload(k + 192), vload(k + 224)
        for entry in range(added, added_end, 8):
            r = ld64(entry) + i
            a0, a1, a2, a3 = (
                vadd16(a0, vload(r)),
                vadd16(a1, vload(r + 32)),
                vadd16(a2, vload(r + 64)),
                vadd16(a3, vload(r + 96)),
            )
            a4, a5, a6, a7 = (
                vadd16(a4, vload(r + 128)),
                vadd16(a5, vload(r + 160)),
                vadd16(a6, vload(r + 192)),
                vadd16(a7, vload(r + 224)),
            )
        for entry in range(removed, removed_end, 8):
            r = ld64(entry) + i
            a0, a1, a2, a3 = (
                vsub16(a0, vload(r)),
                vsub16(a1, vload(r + 32)),
                vsub16(a2, vload(r + 64)),
                vsub16(a3, vload(r + 96)),
            )
            a4, a5, a6, a7 = (
                vsub16(a4, vload(r + 128)),
                vsub16(a5, vload(r + 160)),
                vsub16(a6, vload(r + 192)),
                vsub16(a7, vload(r + 224)),
            )
        for t in (target + i, k):
            vstore(t, a0)
            vstore(t + 32, a1)
            vstore(t + 64, a2)
            vstore(t + 96, a3)
            vstore(t + 128, a4)
            vstore(t + 160, a5)
            vstore(t + 192, a6)
            vstore(t + 224, a7)


@jit()
def _clip_row(source: int, target: int, width: int) -> None:
    """int16 [width] clipped to 0..127 into blocks of uint8, in `_INPUT_ORDER`, each with its bits."""
    for block in range(0, width, _BLOCK):
        bits = np.uint64(0)
        for i in range(0, min(_BLOCK, width - block), 32):
            a = source + 2 * (block + i)
            values = vmax8_0(vpacksswb(vload(a), vload(a + 32)))
            vstore(target + i, values)
            bits |= np.uint64(veq32(values, vzero()) ^ 255) << np.uint64(i >> 2)
        st64(target + _BITS, np.int64(bits))
        target += _BLOCK_BYTES


if HAS_VNNI:

    @jit()
    def _dot4(total: Any, activations: Any, weights: Any) -> Any:
        """total + the products of 32 activations with 32 weights, summed by fours."""
        return vdpbusd(total, activations, weights)

else:

    @jit()
    def _dot4(total: Any, activations: Any, weights: Any) -> Any:
        """total + the products of 32 activations with 32 weights, summed by fours. 127 * 128 * 2 does not saturate."""
        return vadd32(total, vmaddwd(vmaddubs(activations, weights), vset1_16(1)))


@jit()
def _clip_sums(a0: Any, a1: Any, a2: Any, a3: Any, target: int) -> None:
    """Four registers of int32 sums, shifted right by 6 and clipped to 0..127, in `_HIDDEN_ORDER`."""
    low = vpackssdw(vsra32_6(a0), vsra32_6(a1))
    high = vpackssdw(vsra32_6(a2), vsra32_6(a3))
    vstore(target, vmax8_0(vpacksswb(low, high)))


@jit()
def hidden_layer(source: Any, inputs: Any, bias: Any, weights: Any, outputs: Any, target: Any) -> None:
    """A hidden layer with its activation; ``inputs`` a multiple of 32, ``outputs`` as `padded_outputs` gives it.

    Inputs are summed in two chains, a and b: a single one would wait for each sum before it starts the next.
    """
    if outputs == 8:
        a0, b0 = vload(bias), vzero()
        for c in range(0, inputs, 8):
            w = weights + c * 8
            a0 = _dot4(a0, vset1_32(ld32(source + c)), vload(w))
            b0 = _dot4(b0, vset1_32(ld32(source + c + 4)), vload(w + 32))
        _clip_sums(vadd32(a0, b0), vzero(), vzero(), vzero(), target)
    elif outputs == 16:
        a0, a1, b0, b1 = vload(bias), vload(bias + 32), vzero(), vzero()
        for c in range(0, inputs, 8):
            w = weights + c * 16
            x, y = vset1_32(ld32(source + c)), vset1_32(ld32(source + c + 4))
            a0 = _dot4(a0, x, vload(w))
            a1 = _dot4(a1, x, vload(w + 32))
            b0 = _dot4(b0, y, vload(w + 64))
            b1 = _dot4(b1, y, vload(w + 96))
        _clip_sums(vadd32(a0, b0), vadd32(a1, b1), vzero(), vzero(), target)
    else:
        for block in range(0, outputs, 32):
            start, first = bias + block * 4, weights + block * inputs
            a0, a1, a2, a3 = vload(start), vload(start + 32), vload(start + 64), vload(start + 96)
            b0, b1, b2, b3 = vzero(), vzero(), vzero(), vzero()
            for c in range(0, inputs, 8):
                w = first + c * 32
                x, y = vset1_32(ld32(source + c)), vset1_32(ld32(source + c + 4))
                a0 = _dot4(a0, x, vload(w))
                a1 = _dot4(a1, x, vload(w + 32))
                a2 = _dot4(a2, x, vload(w + 64))
                a3 = _dot4(a3, x, vload(w + 96))
                b0 = _dot4(b0, y, vload(w + 128))
                b1 = _dot4(b1, y, vload(w + 160))
                b2 = _dot4(b2, y, vload(w + 192))
                b3 = _dot4(b3, y, vload(w + 224))
            _clip_sums(vadd32(a0, b0), vadd32(a1, b1), vadd32(a2, b2), vadd32(a3, b3), target + block)


@jit()
def output_layer(source: Any, inputs: Any, bias: Any, weights: Any) -> Any:
    """The output (int64) of the last layer."""
    total = vzero()
    for i in range(0, inputs, 32):
        total = _dot4(total, vload(source + i), vload(weights + i))
    return np.int64(np.int32(vhsum32(total) + ld32(bias)))


@jit()
def clear(inputs: int, length: int) -> None:
    """Zeros for inputs that `put` then writes; ``length`` a multiple of 32."""
    for i in range(0, length, 32):
        vstore(inputs + i, vzero())


@jit()
def put(inputs: int, number: int, value: int) -> None:
    """Write an input, 0 to 127."""
    st8(inputs + number, np.int64(value))


@jit()
def put_layer(inputs: int, number: int, bias: int, weights: int, outputs: int, target: int) -> None:
    """A hidden layer after `put`, with its activation; ``outputs`` a multiple of 64, ``number`` of the inputs one of 32
    up to 256. Most inputs are 0: it skips each four that are all 0."""
    bits = np.uint64(0)
    for i in range(0, number, 32):
        bits |= np.uint64(veq32(vload(inputs + i), vzero()) ^ 255) << np.uint64(i >> 2)
    for block in range(0, outputs, 64):
        start, first, second = bias + 4 * block, weights + block * number, weights + (block + 32) * number
        a0, a1, a2, a3 = vload(start), vload(start + 32), vload(start + 64), vload(start + 96)
        b0, b1, b2, b3 = vload(start + 128), vload(start + 160), vload(start + 192), vload(start + 224)
        left = bits
        while left:
            four = 4 * ctz_or_64(left)
            left &= left - np.uint64(1)
            x = vset1_32(ld32(inputs + four))
            v, w = first + four * 32, second + four * 32
            a0, a1, a2, a3 = (
                _dot4(a0, x, vload(v)),
                _dot4(a1, x, vload(v + 32)),
                _dot4(a2, x, vload(v + 64)),
                _dot4(a3, x, vload(v + 96)),
            )
            b0, b1, b2, b3 = (
                _dot4(b0, x, vload(w)),
                _dot4(b1, x, vload(w + 32)),
                _dot4(b2, x, vload(w + 64)),
                _dot4(b3, x, vload(w + 96)),
            )
        _clip_sums(a0, a1, a2, a3, target + block)
        _clip_sums(b0, b1, b2, b3, target + block + 32)


@jit()
def get(inputs: int, number: int) -> Any:
    """An input, int64."""
    return ldu8(inputs + number)


@jit()
def _first_fours(x_bits: Any, y_bits: Any) -> tuple[Any, Any, Any, Any]:
    """The offset of each side's first four in its block, 256 if none is left, and the bits of the others."""
    one = np.uint64(1)
    return 4 * ctz_or_64(x_bits), 4 * ctz_or_64(y_bits), x_bits & (x_bits - one), y_bits & (y_bits - one)


@jit()
def _input_layer(inputs: Any, width: Any, bias: Any, weights: Any, outputs: Any, target: Any) -> None:
    """The first hidden layer with its activation, from the output of `_clip_row` for both sides at ``inputs``.

    The fours of one side (x) are summed in chain a, those of the other (y) in chain b. A side with no fours left
    goes on with the zeros after its block.
    """
    side = -(-width // _BLOCK) * _BLOCK_BYTES
    for out in range(0, outputs, 32):
        start, first = bias + 4 * out, weights + out * 2 * width
        a0, b0, a1, b1 = vload(start), vzero(), vzero(), vzero()
        a2, b2, a3, b3 = vzero(), vzero(), vzero(), vzero()
        if outputs > 8:
            a1 = vload(start + 32)
        if outputs > 16:
            a2, a3 = vload(start + 64), vload(start + 96)
        x_at = inputs
        for i in range(0, width, _BLOCK):
            y_at = x_at + side
            x_bits, y_bits = ldu64(x_at + _BITS), ldu64(y_at + _BITS)
            # Strides that are known to the compiler add 1 % to the search's speed.
            if outputs == 8:
                v, w = first + i * 8, first + (width + i) * 8
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    a0 = _dot4(a0, vset1_32(ld32(x_at + x_four)), vload(v + x_four * 8))
                    b0 = _dot4(b0, vset1_32(ld32(y_at + y_four)), vload(w + y_four * 8))
            elif outputs == 16:
                v, w = first + i * 16, first + (width + i) * 16
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    x, y = vset1_32(ld32(x_at + x_four)), vset1_32(ld32(y_at + y_four))
                    x_row, y_row = v + x_four * 16, w + y_four * 16
                    a0, b0 = _dot4(a0, x, vload(x_row)), _dot4(b0, y, vload(y_row))
                    a1, b1 = _dot4(a1, x, vload(x_row + 32)), _dot4(b1, y, vload(y_row + 32))
            else:
                v, w = first + i * 32, first + (width + i) * 32
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    x, y = vset1_32(ld32(x_at + x_four)), vset1_32(ld32(y_at + y_four))
                    x_row, y_row = v + x_four * 32, w + y_four * 32
                    a0, b0 = _dot4(a0, x, vload(x_row)), _dot4(b0, y, vload(y_row))
                    a1, b1 = _dot4(a1, x, vload(x_row + 32)), _dot4(b1, y, vload(y_row + 32))
                    a2, b2 = _dot4(a2, x, vload(x_row + 64)), _dot4(b2, y, vload(y_row + 64))
                    a3, b3 = _dot4(a3, x, vload(x_row + 96)), _dot4(b3, y, vload(y_row + 96))
            x_at += _BLOCK_BYTES
        _clip_sums(vadd32(a0, b0), vadd32(a1, b1), vadd32(a2, b2), vadd32(a3, b3), target + out)


@jit()
def forward(own: int, enemy: int, nn: Any) -> Any:
    """The raw output (int64) from the accumulators of the side to move and of the other side, by address."""
    _clip_row(own, nn.activations, nn.width)
    _clip_row(enemy, nn.activations + -(-nn.width // _BLOCK) * _BLOCK_BYTES, nn.width)
    _input_layer(nn.activations, nn.width, nn.bias1, nn.weight1, nn.hidden1, nn.values1)
    hidden_layer(nn.values1, (nn.hidden1 + 31) & ~31, nn.bias2, nn.weight2, nn.hidden2, nn.values2)
    return output_layer(nn.values2, nn.hidden2, nn.bias3, nn.weight3)
