"""V256: a 256-bit integer vector as its own scalar type; code reads like C intrinsics.

Compile AVX2 and VNNI instructions only if the CPU has them (`HAS_AVX2`, `HAS_VNNI`). Suffixes give the lane width in
bits. Loads and stores need 32-byte alignment.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from worker.jit.llvm import BY_ADDRESS, I8, I16, I32, I64, alias_tag, call, intrinsic, pointer


class VectorType(types.Type):
    """The numba type of a 256-bit vector."""

    def __init__(self) -> None:
        super().__init__(name="V256")


V256 = VectorType()
_B = ir.VectorType(I8, 32)
_W = ir.VectorType(I16, 16)
_D = ir.VectorType(I32, 8)
_Q = ir.VectorType(I64, 4)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _Q)


@intrinsic(V256, types.int64)
def vload(builder: Any, address: Any) -> Any:
    """32 bytes at a 32-byte aligned address."""
    value = builder.load(pointer(builder, address, _Q), align=32)
    value.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
    return value


@intrinsic(types.void, types.int64, V256)
def vstore(builder: Any, address: Any, vector: Any) -> None:
    """Store 32 bytes at a 32-byte aligned address."""
    stored = builder.store(vector, pointer(builder, address, _Q), align=32)
    stored.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))


@intrinsic(V256)
def vzero(builder: Any) -> Any:
    """All bits 0."""
    return ir.Constant(_Q, [0, 0, 0, 0])


def _lanewise(instruction: str, lanes: Any) -> Any:
    @intrinsic(V256, V256, V256)
    def operation(builder: Any, a: Any, b: Any) -> Any:
        left, right = (builder.bitcast(vector, lanes) for vector in (a, b))
        return builder.bitcast(getattr(builder, instruction)(left, right), _Q)

    return operation


vadd16 = _lanewise("add", _W)
vsub16 = _lanewise("sub", _W)
vadd32 = _lanewise("add", _D)


def _avx2(name: str, operand: Any, result: Any) -> Any:
    @intrinsic(V256, V256, V256)
    def operation(builder: Any, a: Any, b: Any) -> Any:
        values = [builder.bitcast(vector, operand) for vector in (a, b)]
        return builder.bitcast(call(builder, f"llvm.x86.avx2.{name}", result, values), _Q)

    return operation


vmaddubs = _avx2("pmadd.ub.sw", _B, _W)
"""unsigned a[i] * signed b[i], pairs summed with saturation to int16."""
vmaddwd = _avx2("pmadd.wd", _W, _D)
"""int16 a[i] * b[i], pairs summed to int32."""
vpacksswb = _avx2("packsswb", _W, _B)
"""int16 to int8 with saturation, within each 128-bit half: first a's, then b's."""
vpackssdw = _avx2("packssdw", _D, _W)
"""int32 to int16 with saturation, within each 128-bit half."""


@intrinsic(V256, V256, V256, V256)
def vdpbusd(builder: Any, total: Any, a: Any, b: Any) -> Any:
    """Each int32 of ``total`` plus its four products unsigned a[i] * signed b[i]. Compile only if `HAS_VNNI`."""
    values = [builder.bitcast(vector, _D) for vector in (total, a, b)]
    return builder.bitcast(call(builder, "llvm.x86.avx512.vpdpbusd.256", _D, values), _Q)


@intrinsic(V256, V256)
def vmax8_0(builder: Any, vector: Any) -> Any:
    """max(0, x) of each int8."""
    zero = ir.Constant(_B, [0] * 32)
    return builder.bitcast(call(builder, "llvm.smax.v32i8", _B, [builder.bitcast(vector, _B), zero]), _Q)


@intrinsic(V256, V256, V256)
def vmax64(builder: Any, a: Any, b: Any) -> Any:
    """The greater of each two int64; any CPU."""
    return call(builder, "llvm.smax.v4i64", _Q, [a, b])


@intrinsic(types.int64, V256)
def vhmax64(builder: Any, vector: Any) -> Any:
    """The greatest of the four int64; any CPU."""
    return call(builder, "llvm.vector.reduce.smax.v4i64", I64, [vector])


@intrinsic(types.int64, V256, V256)
def veq32(builder: Any, a: Any, b: Any) -> Any:
    """Bit i (int64): the int32 i of both are equal; any CPU."""
    equal = builder.icmp_signed("==", builder.bitcast(a, _D), builder.bitcast(b, _D))
    return builder.zext(builder.bitcast(equal, I8), I64)


def _broadcast(width: Any, lanes: Any) -> Any:
    @intrinsic(V256, types.int64)
    def operation(builder: Any, value: Any) -> Any:
        undefined = ir.Constant(lanes, ir.Undefined)
        first = builder.insert_element(undefined, builder.trunc(value, width), ir.Constant(I32, 0))
        mask = ir.Constant(ir.VectorType(I32, lanes.count), [0] * lanes.count)
        return builder.bitcast(builder.shuffle_vector(first, undefined, mask), _Q)

    return operation


vset1_16 = _broadcast(I16, _W)
vset1_32 = _broadcast(I32, _D)


@intrinsic(V256, V256)
def vsra32_6(builder: Any, vector: Any) -> Any:
    """Each int32 shifted right by 6, sign kept: the weight scale of the hidden layers."""
    return builder.bitcast(builder.ashr(builder.bitcast(vector, _D), ir.Constant(_D, [6] * 8)), _Q)


@intrinsic(types.int64, V256)
def vhsum32(builder: Any, vector: Any) -> Any:
    """Sum of the eight int32 (int64)."""
    total = call(builder, "llvm.vector.reduce.add.v8i32", I32, [builder.bitcast(vector, _D)])
    return builder.sext(total, I64)
