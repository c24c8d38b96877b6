"""Operations on 64-bit words that Python has no sign for.

numba types ``x & (x - 1)`` of a uint64 as int64: write ``np.uint64(1)``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from worker.jit.llvm import I1, I64, I128, call, intrinsic


@intrinsic(types.int64, types.uint64)
def ctz(builder: Any, word: Any) -> Any:
    """Index of the lowest set bit (int64). Undefined for 0."""
    return call(builder, "llvm.cttz.i64", I64, [word, ir.Constant(I1, 1)])


@intrinsic(types.int64, types.uint64)
def ctz_or_64(builder: Any, word: Any) -> Any:
    """Index of the lowest set bit (int64), 64 for 0."""
    return call(builder, "llvm.cttz.i64", I64, [word, ir.Constant(I1, 0)])


@intrinsic(types.int64, types.int64, types.int64)
def toward_zero(builder: Any, value: Any, divisor: Any) -> Any:
    """``value / divisor`` without its fraction: a small negative value gives 0, not -1. ``divisor`` is positive."""
    return builder.sdiv(value, divisor)


@intrinsic(types.uint64, types.uint64, types.uint64)
def mul_high(builder: Any, a: Any, b: Any) -> Any:
    """The high word of the 128-bit product: maps a hash evenly onto ``0..b-1`` for any ``b``."""
    product = builder.mul(builder.zext(a, I128), builder.zext(b, I128))
    return builder.trunc(builder.lshr(product, ir.Constant(I128, 64)), I64)


@intrinsic(types.uint64, types.uint64, types.uint64)
def pext(builder: Any, word: Any, mask: Any) -> Any:
    """Parallel bit extract (BMI2). Compile only where `worker.jit.HAS_PEXT`."""
    return call(builder, "llvm.x86.bmi.pext.64", I64, [word, mask])


@intrinsic(types.uint64, types.uint64, types.uint64)
def pdep(builder: Any, word: Any, mask: Any) -> Any:
    """Parallel bit deposit (BMI2), the reverse of `pext`. Compile only where `worker.jit.HAS_PEXT`."""
    return call(builder, "llvm.x86.bmi.pdep.64", I64, [word, mask])
