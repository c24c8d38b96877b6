"""System calls from compiled code: the monotonic clock, and waiting for another thread.

They are external symbols (`clock_gettime`: 28 ns). Functions that call them through ctypes could not be cached.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from worker.jit.llvm import I8, I32, I64, call, intrinsic

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


@intrinsic(types.void, types.int64, types.int64)
def hand_over(builder: Any, done_fd: Any, go_fd: Any) -> None:
    """Signal the eventfd ``done_fd``, then sleep until ``go_fd`` is signalled, and reset it (eventfd(2), both
    blocking)."""
    # In the entry block: an alloca inside a loop would eat the stack.
    value = cgutils.alloca_once_value(builder, ir.Constant(I64, 1))
    builder.store(ir.Constant(I64, 1), value)
    buffer = builder.bitcast(value, I8.as_pointer())
    eight = ir.Constant(I64, 8)
    done, go = (builder.trunc(fd, I32) for fd in (done_fd, go_fd))
    call(builder, "write", I64, [done, buffer, eight])
    again = builder.append_basic_block("wait")
    after = builder.append_basic_block("gone_on")
    builder.branch(again)
    builder.position_at_end(again)
    got = call(builder, "read", I64, [go, buffer, eight])
    # A signal may wake the sleeper early.
    builder.cbranch(builder.icmp_signed("==", got, eight), after, again)
    builder.position_at_end(after)
