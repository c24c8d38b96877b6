"""A word to LLVM about functions that are rarely called."""

from __future__ import annotations

from typing import Any

from numba import types

from worker.jit.llvm import intrinsic


@intrinsic(types.void)
def never_inline(builder: Any) -> None:
    """Keep the function in which this stands out of its callers.

    A caller that is called all the time stays small that way, so that it may be inlined itself.
    """
    builder.function.attributes.add("noinline")
