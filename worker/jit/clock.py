"""The monotonic clock inside compiled code: `clock_gettime` as an external symbol (28 ns; through ctypes the function
that calls it could not be cached)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from worker.jit.llvm import I32, I64, call, intrinsic

_CLOCK_MONOTONIC = 1


@intrinsic(types.int64)
def monotonic_ns(builder: Any) -> Any:
    """Nanoseconds of CLOCK_MONOTONIC (int64): the same clock as Python's ``time.monotonic_ns()``."""
    # In the entry block: an alloca inside a loop would eat the stack.
    timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
    call(builder, "clock_gettime", I32, [ir.Constant(I32, _CLOCK_MONOTONIC), timespec])
    zero = ir.Constant(I32, 0)
    seconds = builder.load(builder.gep(timespec, [zero, zero]))
    nanoseconds = builder.load(builder.gep(timespec, [zero, ir.Constant(I32, 1)]))
    return builder.add(builder.mul(seconds, ir.Constant(I64, 1_000_000_000)), nanoseconds)
