"""Bit operations on 64-bit words. numba types ``x & (x - 1)`` of a uint64 as int64: write ``np.uint64(1)``."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.jit.llvm import I1, I64, call


@intrinsic
def ctz(typingctx: Any, word: Any) -> Any:
    """Index of the lowest set bit (int64). Undefined for 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return call(builder, "llvm.cttz.i64", I64, [args[0], ir.Constant(I1, 1)])

    return types.int64(types.uint64), codegen


@intrinsic
def popcount(typingctx: Any, word: Any) -> Any:
    """Number of set bits (int64)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return call(builder, "llvm.ctpop.i64", I64, [args[0]])

    return types.int64(types.uint64), codegen


@intrinsic
def mul_high(typingctx: Any, a: Any, b: Any) -> Any:
    """The high word of the 128-bit product: maps a hash evenly onto ``0..b-1`` for any ``b``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), I64)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def pext(typingctx: Any, word: Any, mask: Any) -> Any:
    """Parallel bit extract (BMI2). Compile only where `worker.jit.HAS_PEXT`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return call(builder, "llvm.x86.bmi.pext.64", I64, [args[0], args[1]])

    return types.uint64(types.uint64, types.uint64), codegen
