"""The SFNN layers with AVX2 vectors. Compile only if `worker.jit.HAS_AVX2`.

Weights are arranged as in `worker.nnue.vector`: int8 [block of outputs][inputs / 4][outputs of the block][4]. Products
of a side are in blocks of 256. After each block come four zeros, and a bit for every four that is not all 0; the first
layer skips the others. Packing leaves the squared and the clipped sums in an order of its own; the second layer's
columns are put into that order when a network is loaded.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from worker.jit.llvm import I8, I16, I64, call, intrinsic
from worker.jit.memory import ld32, ldu64, st64
from worker.jit.simd import V256, vadd32, veq32, vhsum32, vload, vpackssdw, vpacksswb, vset1_16, vset1_32, vstore, vzero
from worker.nnue.sfnn.jit import jit
from worker.nnue.vector import (
    _BITS,
    _BLOCK,
    _BLOCK_BYTES,
    _HIDDEN_ORDER,
    _INPUT_ORDER,
    _VECTOR,
    _dot4,
    _first_fours,
    hidden_layer,
)

HALF_STEP: Final = 64
"""In memory a side's products are padded to a multiple of this."""
_B: Final = ir.VectorType(I8, 32)
_W: Final = ir.VectorType(I16, 16)
_Q: Final = ir.VectorType(I64, 4)


def _words(name: str, result: Any = _W) -> Any:
    @intrinsic(V256, V256, V256)
    def operation(builder: Any, a: Any, b: Any) -> Any:
        values = [builder.bitcast(vector, _W) for vector in (a, b)]
        return builder.bitcast(call(builder, name, result, values), _Q)

    return operation


_min16 = _words("llvm.smin.v16i16")
_max16 = _words("llvm.smax.v16i16")
_mulhi16 = _words("llvm.x86.avx2.pmulh.w")
_packuswb = _words("llvm.x86.avx2.packuswb", _B)
"""int16 to uint8 with saturation, within each 128-bit half: first those of a, then those of b."""


def _shift(instruction: str, bits: int) -> Any:
    @intrinsic(V256, V256)
    def operation(builder: Any, vector: Any) -> Any:
        by = ir.Constant(_W, [bits] * 16)
        return builder.bitcast(getattr(builder, instruction)(builder.bitcast(vector, _W), by), _Q)

    return operation


_left7 = _shift("shl", 7)
_right3 = _shift("lshr", 3)
_right6 = _shift("lshr", 6)


# ---- The arrangement of weights in memory. All arrays have the stacks as their first axis.


def padded_sums(sums: int) -> int:
    """The number of sums that the first layer computes: 8, 16 or a multiple of 32."""
    return 8 if sums <= 8 else 16 if sums <= 16 else -(-sums // 32) * 32


def padded_hidden(outputs: int) -> int:
    """The number of outputs that the second layer computes."""
    return padded_sums(outputs)


def buffer_bytes(half: int, sums: int, hidden2: int) -> tuple[int, int, int, int]:
    """Bytes of the products, the sums, and the inputs of the second and the third layer; padded numbers."""
    return 2 * -(-half // _BLOCK) * _BLOCK_BYTES, 4 * sums, 2 * max(sums, 16), -(-hidden2 // _VECTOR) * _VECTOR


TAIL: Final = (_BLOCK + 4) * 32
"""Bytes after the last stack that the first layer may read, for zeros."""


def _blocks(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """[stacks, outputs, inputs] as [stacks, bytes] in blocks of outputs."""
    stacks, outputs, inputs = weights.shape
    block = min(outputs, 32)
    fours = weights.reshape(stacks, outputs // block, block, inputs // 4, 4)
    return fours.transpose(0, 1, 3, 2, 4).reshape(stacks, -1)


def arrange_first(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The first layer's: [stacks, padded sums, 2 * half] as [stacks, bytes]."""
    stacks, outputs, inputs = weights.shape
    ordered = weights.reshape(stacks, outputs, inputs // _VECTOR, _VECTOR)[..., _INPUT_ORDER]
    return _blocks(ordered.reshape(stacks, outputs, inputs))


def second_inputs(sums: int) -> npt.NDArray[np.int64]:
    """For each place of the second layer's input: the sum's number, plus ``sums`` for clipped ones, -1 for nothing.
    ``sums`` is as `padded_sums` returns it."""
    places = []
    for pair in range(-(-sums // 16)):
        for half in range(2):
            for kind in range(2):
                for register in range(2):
                    numbers = 16 * pair + 8 * register + 4 * half + np.arange(4)
                    places.append(np.where(numbers < sums, numbers + kind * sums, -1))
    return np.concatenate(places)


def arrange_second(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The second layer's: [stacks, padded outputs, places of `second_inputs`] as [stacks, bytes]."""
    return _blocks(weights)


def arrange_third(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The third layer's: [stacks, 1, padded inputs] as [stacks, bytes]."""
    stacks, _, inputs = weights.shape
    full = np.zeros((stacks, -(-inputs // _VECTOR) * _VECTOR), np.int8)
    full[:, :inputs] = weights[:, 0]
    return full.reshape(stacks, -1, _VECTOR)[..., _HIDDEN_ORDER].reshape(stacks, -1)


# ---- Compiled code.


@jit()
def _products(source: int, half: int, target: int) -> None:
    """The products of the two halves of an accumulator, int16 [2][half], into blocks of uint8, each with its bits."""
    top = vset1_16(254)
    for block in range(0, half, _BLOCK):
        bits = np.uint64(0)
        for i in range(0, min(_BLOCK, half - block), 32):
            a = source + 2 * (block + i)
            b = a + 2 * half
            low = _mulhi16(_left7(_max16(_min16(vload(a), top), vzero())), _min16(vload(b), top))
            high = _mulhi16(_left7(_max16(_min16(vload(a + 32), top), vzero())), _min16(vload(b + 32), top))
            values = _packuswb(low, high)
            vstore(target + i, values)
            bits |= np.uint64(veq32(values, vzero()) ^ 255) << np.uint64(i >> 2)
        st64(target + _BITS, np.int64(bits))
        target += _BLOCK_BYTES


@jit()
def _first_layer(products: int, half: int, bias: int, weights: int, sums: int, target: int) -> None:
    """The sums of the first layer, int32. The fours of the side to move (x) and of the other (y) form two chains."""
    side = -(-half // _BLOCK) * _BLOCK_BYTES
    for out in range(0, sums, 32):
        start, first = bias + 4 * out, weights + out * 2 * half
        a0, b0, a1, b1 = vload(start), vzero(), vzero(), vzero()
        a2, b2, a3, b3 = vzero(), vzero(), vzero(), vzero()
        if sums > 8:
            a1 = vload(start + 32)
        if sums > 16:
            a2, a3 = vload(start + 64), vload(start + 96)
        x_at = products
        for i in range(0, half, _BLOCK):
            y_at = x_at + side
            x_bits, y_bits = ldu64(x_at + _BITS), ldu64(y_at + _BITS)
            if sums == 8:
                v, w = first + i * 8, first + (half + i) * 8
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    a0 = _dot4(a0, vset1_32(ld32(x_at + x_four)), vload(v + x_four * 8))
                    b0 = _dot4(b0, vset1_32(ld32(y_at + y_four)), vload(w + y_four * 8))
            elif sums == 16:
                v, w = first + i * 16, first + (half + i) * 16
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    x, y = vset1_32(ld32(x_at + x_four)), vset1_32(ld32(y_at + y_four))
                    x_row, y_row = v + x_four * 16, w + y_four * 16
                    a0, b0 = _dot4(a0, x, vload(x_row)), _dot4(b0, y, vload(y_row))
                    a1, b1 = _dot4(a1, x, vload(x_row + 32)), _dot4(b1, y, vload(y_row + 32))
            else:
                v, w = first + i * 32, first + (half + i) * 32
                while x_bits | y_bits:
                    x_four, y_four, x_bits, y_bits = _first_fours(x_bits, y_bits)
                    x, y = vset1_32(ld32(x_at + x_four)), vset1_32(ld32(y_at + y_four))
                    x_row, y_row = v + x_four * 32, w + y_four * 32
                    a0, b0 = _dot4(a0, x, vload(x_row)), _dot4(b0, y, vload(y_row))
                    a1, b1 = _dot4(a1, x, vload(x_row + 32)), _dot4(b1, y, vload(y_row + 32))
                    a2, b2 = _dot4(a2, x, vload(x_row + 64)), _dot4(b2, y, vload(y_row + 64))
                    a3, b3 = _dot4(a3, x, vload(x_row + 96)), _dot4(b3, y, vload(y_row + 96))
            x_at += _BLOCK_BYTES
        t = target + 4 * out
        vstore(t, vadd32(a0, b0))
        if sums > 8:
            vstore(t + 32, vadd32(a1, b1))
        if sums > 16:
            vstore(t + 64, vadd32(a2, b2))
            vstore(t + 96, vadd32(a3, b3))


@jit()
def _square_and_clip(sums: int, count: int, target: int) -> None:
    """Sums, squared and clipped side by side, in the order of `second_inputs`."""
    for i in range(0, count, 16):
        at = sums + 4 * i
        words = vpackssdw(vload(at), vload(at + 32) if count > 8 else vzero())
        clipped = _right6(_max16(words, vzero()))
        vstore(target + 2 * i, vpacksswb(_right3(_mulhi16(words, words)), clipped))


@jit()
def forward(own: int, enemy: int, stack: int, sf: Any) -> Any:
    """The raw output (int64) of the stack at an address from two accumulators, by address."""
    _products(own, sf.half, sf.products)
    _products(enemy, sf.half, sf.products + -(-sf.half // _BLOCK) * _BLOCK_BYTES)
    _first_layer(sf.products, sf.half, stack + sf.bias1, stack + sf.weight1, sf.sums, sf.sums_at)
    _square_and_clip(sf.sums_at, sf.sums, sf.values1)
    places = max(2 * sf.sums, 32)
    hidden_layer(sf.values1, places, stack + sf.bias2, stack + sf.weight2, sf.hidden2, sf.values2)
    total = vzero()
    for i in range(0, sf.hidden2, 32):
        total = _dot4(total, vload(sf.values2 + i), vload(stack + sf.weight3 + i))
    output = vhsum32(total) + ld32(stack + sf.bias3)
    if sf.shortcut >= 0:
        output += ld32(sf.sums_at + 4 * sf.shortcut)
    return np.int64(np.int32(output))
