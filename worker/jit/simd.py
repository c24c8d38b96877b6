"""V256: a 256-bit integer vector as a scalar of its own; code reads like C intrinsics. Compile only where `HAS_AVX2`.

Suffixes give the lane width in bits. Loads and stores need 32-byte alignment.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from worker.jit.llvm import BY_ADDRESS, I8, I16, I32, I64, alias_tag, call, pointer


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


@intrinsic
def vload(typingctx: Any, address: Any) -> Any:
    """32 bytes at a 32-byte aligned address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(pointer(builder, args[0], _Q), align=32)
        value.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
        return value

    return V256(types.int64), codegen


@intrinsic
def vstore(typingctx: Any, address: Any, vector: Any) -> Any:
    """Store 32 bytes at a 32-byte aligned address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stored = builder.store(args[1], pointer(builder, args[0], _Q), align=32)
        stored.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
        return context.get_dummy_value()

    return types.void(types.int64, V256), codegen


@intrinsic
def vzero(typingctx: Any) -> Any:
    """All bits 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_Q, [0, 0, 0, 0])

    return V256(), codegen


def _lanewise(instruction: str, lanes: Any) -> Any:
    @intrinsic
    def operation(typingctx: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right = (builder.bitcast(arg, lanes) for arg in args)
            return builder.bitcast(getattr(builder, instruction)(left, right), _Q)

        return V256(V256, V256), codegen

    return operation


vadd16 = _lanewise("add", _W)
vsub16 = _lanewise("sub", _W)
vadd32 = _lanewise("add", _D)


def _avx2(name: str, operand: Any, result: Any) -> Any:
    @intrinsic
    def operation(typingctx: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = [builder.bitcast(arg, operand) for arg in args]
            return builder.bitcast(call(builder, f"llvm.x86.avx2.{name}", result, values), _Q)

        return V256(V256, V256), codegen

    return operation


vmaddubs = _avx2("pmadd.ub.sw", _B, _W)
"""unsigned a[i] * signed b[i], pairs summed with saturation to int16."""
vmaddwd = _avx2("pmadd.wd", _W, _D)
"""int16 a[i] * b[i], pairs summed to int32."""
vpacksswb = _avx2("packsswb", _W, _B)
"""int16 to int8 with saturation, within each 128-bit half: first a's, then b's."""
vpackssdw = _avx2("packssdw", _D, _W)
"""int32 to int16 with saturation, within each 128-bit half."""


@intrinsic
def vdpbusd(typingctx: Any, total: Any, a: Any, b: Any) -> Any:
    """Each int32 of ``total`` plus its four products unsigned a[i] * signed b[i]. Compile only where `HAS_VNNI`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = [builder.bitcast(arg, _D) for arg in args]
        return builder.bitcast(call(builder, "llvm.x86.avx512.vpdpbusd.256", _D, values), _Q)

    return V256(V256, V256, V256), codegen


@intrinsic
def vmax8_0(typingctx: Any, vector: Any) -> Any:
    """max(0, x) of each int8."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(_B, [0] * 32)
        return builder.bitcast(call(builder, "llvm.smax.v32i8", _B, [builder.bitcast(args[0], _B), zero]), _Q)

    return V256(V256), codegen


def _broadcast(width: Any, lanes: Any) -> Any:
    @intrinsic
    def operation(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            undefined = ir.Constant(lanes, ir.Undefined)
            first = builder.insert_element(undefined, builder.trunc(args[0], width), ir.Constant(I32, 0))
            mask = ir.Constant(ir.VectorType(I32, lanes.count), [0] * lanes.count)
            return builder.bitcast(builder.shuffle_vector(first, undefined, mask), _Q)

        return V256(types.int64), codegen

    return operation


vset1_16 = _broadcast(I16, _W)
vset1_32 = _broadcast(I32, _D)


@intrinsic
def vsra32_6(typingctx: Any, vector: Any) -> Any:
    """Each int32 shifted right by 6, sign kept: the weight scale of the hidden layers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.ashr(builder.bitcast(args[0], _D), ir.Constant(_D, [6] * 8)), _Q)

    return V256(V256), codegen


@intrinsic
def vhsum32(typingctx: Any, vector: Any) -> Any:
    """Sum of the eight int32 (int64)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total = call(builder, "llvm.vector.reduce.add.v8i32", I32, [builder.bitcast(args[0], _D)])
        return builder.sext(total, I64)

    return types.int64(V256), codegen
