"""Big memory by address: loads, stores, atomics, prefetch. Addresses are int64 and travel inside Records.

Never keep an address in a module global: it is frozen into the cache and the next process reads wild memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from worker.jit.llvm import BY_ADDRESS, I8, I16, I32, I64, alias_tag, call, pointer

CACHE_LINE = 64


def aligned_zeros(shape: int | tuple[int, ...], dtype: Any, alignment: int = CACHE_LINE) -> np.ndarray[Any, Any]:
    """A zeroed array whose first byte is aligned. Python only; the array owns its memory through ``.base``."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size].view(dtype).reshape(shape)


def _load(width: Any, *, signed: bool) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(pointer(builder, args[0], width), align=width.width // 8)
            value.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
            if width.width < 64:
                value = builder.sext(value, I64) if signed else builder.zext(value, I64)
            return value

        return (types.int64 if signed or width.width < 64 else types.uint64)(types.int64), codegen

    return load


def _store(width: Any) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.trunc(args[1], width) if width.width < 64 else args[1]
            stored = builder.store(value, pointer(builder, args[0], width), align=width.width // 8)
            stored.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return store


# ldN: sign-extended to int64; lduN: zero-extended (ldu64 gives uint64).
ld8, ldu8, st8 = _load(I8, signed=True), _load(I8, signed=False), _store(I8)
ld16, ldu16, st16 = _load(I16, signed=True), _load(I16, signed=False), _store(I16)
ld32, ldu32, st32 = _load(I32, signed=True), _load(I32, signed=False), _store(I32)
ld64, ldu64, st64 = _load(I64, signed=True), _load(I64, signed=False), _store(I64)


@intrinsic
def atomic_ld64(typingctx: Any, address: Any) -> Any:
    """Relaxed atomic load: never hoisted out of a loop, so a flag set by another thread is seen."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(pointer(builder, args[0], I64), "monotonic", 8)

    return types.int64(types.int64), codegen


@intrinsic
def atomic_st64(typingctx: Any, address: Any, value: Any) -> Any:
    """Relaxed atomic store."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], pointer(builder, args[0], I64), "monotonic", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Ask for the cache line at ``address`` (read, keep in all levels)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        constants = [ir.Constant(I32, value) for value in (0, 3, 1)]
        call(builder, "llvm.prefetch.p0", ir.VoidType(), [pointer(builder, args[0], I8), *constants])
        return context.get_dummy_value()

    return types.void(types.int64), codegen
