"""Words to LLVM about which functions to inline."""

from __future__ import annotations

from typing import Any

from numba import types

from worker.jit.llvm import intrinsic


@intrinsic(types.void)
def never_inline(builder: Any) -> None:
    """Forbid LLVM to inline the function that calls this.

    Its callers stay small that way, so that they may be inlined themselves.
    """
    builder.function.attributes.add("noinline")


@intrinsic(types.void)
def always_inline(builder: Any) -> None:
    """Let LLVM inline the function that calls this wherever it is called.

    For a helper whose callers give it constants: each gets a copy made for them. And for one that takes bitboards
    beyond what registers hold: on the stack they are written as two words and read as one, which waits for both.
    """
    builder.function.attributes.add("alwaysinline")
