"""Small helpers with which the intrinsics build LLVM code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
I128 = ir.IntType(128)
BY_ADDRESS = "by address"
"""The `alias_tag` of all memory that is reached by an address; of the rest each Record field has its own."""


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
