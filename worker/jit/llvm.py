"""Helpers with which the intrinsics build LLVM code, and inlining hints for LLVM."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
I128 = ir.IntType(128)
BY_ADDRESS = "by address"
"""The `alias_tag` of all memory accessed by address; each Record field has its own tag."""


def call(builder: Any, name: str, returns: Any, values: list[Any]) -> Any:
    """Call the LLVM intrinsic or external function ``name``."""
    kind = ir.FunctionType(returns, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def alias_tag(builder: Any, name: str) -> Any:
    """The metadata of an access to memory of this name: no other name's memory overlaps with it."""
    module = builder.module
    root = module.add_metadata(["gougi"])
    kind = module.add_metadata([name, root, ir.Constant(I64, 0)])
    return module.add_metadata([kind, kind, ir.Constant(I64, 0)])


def pointer(builder: Any, address: Any, pointee: Any) -> Any:
    """An int64 address as a pointer to ``pointee``."""
    return builder.inttoptr(address, pointee.as_pointer())


def intrinsic(returns: Any, *takes: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that writes LLVM code, so that compiled code can call it.

    It gets the builder and the arguments' values, and returns the result's.

    Args:
        returns: numba type of the result.
        takes: those of the arguments.
    """

    def decorate(write: Callable[..., Any]) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            result = write(builder, *args)
            return context.get_dummy_value() if returns is types.void else result

        # numba takes the names of the arguments from the wrapped function.
        @functools.wraps(write)
        def typed(typingctx: Any, *args: Any) -> Any:
            return returns(*takes), codegen

        return extending.intrinsic(typed)

    return decorate


@intrinsic(types.void)
def never_inline(builder: Any) -> None:
    """Forbid LLVM to inline the function that calls this.

    Its callers stay small that way, so that they may be inlined themselves.
    """
    builder.function.attributes.add("noinline")


@intrinsic(types.void)
def always_inline(builder: Any) -> None:
    """Let LLVM inline the function that calls this at every call.

    For a helper whose callers give it constants: each gets a copy made for them. Also for one with more bitboard
    arguments than registers: on the stack they are written as two words and read as one, which stalls until both are
    written.
    """
    builder.function.attributes.add("alwaysinline")
