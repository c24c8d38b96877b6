"""A word to LLVM about functions that are rarely called."""

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
