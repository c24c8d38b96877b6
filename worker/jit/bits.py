"""Words of 64 bits and bitboards in compiled code.

numba types ``x & (x - 1)`` of a uint64 as int64: write ``np.uint64(1)``.

BB is a bitboard of 81 squares as its own scalar type (LLVM i128) with ``& | ^ ~`` and truth. Square s is bit s. Loop
over squares word by word (`low`, `high`) in hot code: 9.8 ns against 16.7 for popping 128 bits.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from worker.jit.llvm import BY_ADDRESS, I1, I64, I128, alias_tag, call, intrinsic, pointer


@intrinsic(types.int64, types.uint64)
def ctz(builder: Any, word: Any) -> Any:
    """Index of the lowest set bit (int64). Undefined for 0."""
    return call(builder, "llvm.cttz.i64", I64, [word, ir.Constant(I1, 1)])


@intrinsic(types.int64, types.uint64)
def ctz_or_64(builder: Any, word: Any) -> Any:
    """Index of the lowest set bit (int64), 64 for 0."""
    return call(builder, "llvm.cttz.i64", I64, [word, ir.Constant(I1, 0)])


@intrinsic(types.int64, types.int64, types.int64)
def toward_zero(builder: Any, value: Any, divisor: Any) -> Any:
    """``value / divisor`` truncated: a small negative value gives 0, not -1. ``divisor`` is positive."""
    return builder.sdiv(value, divisor)


@intrinsic(types.uint64, types.uint64, types.uint64)
def mul_high(builder: Any, a: Any, b: Any) -> Any:
    """The high word of the 128-bit product: maps a hash evenly onto ``0..b-1`` for any ``b``."""
    product = builder.mul(builder.zext(a, I128), builder.zext(b, I128))
    return builder.trunc(builder.lshr(product, ir.Constant(I128, 64)), I64)


@intrinsic(types.uint64, types.uint64, types.uint64)
def pext(builder: Any, word: Any, mask: Any) -> Any:
    """Parallel bit extract (BMI2). Compile only if `worker.jit.HAS_PEXT`."""
    return call(builder, "llvm.x86.bmi.pext.64", I64, [word, mask])


@intrinsic(types.uint64, types.uint64, types.uint64)
def pdep(builder: Any, word: Any, mask: Any) -> Any:
    """Parallel bit deposit (BMI2), the reverse of `pext`. Compile only if `worker.jit.HAS_PEXT`."""
    return call(builder, "llvm.x86.bmi.pdep.64", I64, [word, mask])


class BitboardType(types.Type):
    """The numba type of a bitboard."""

    def __init__(self) -> None:
        super().__init__(name="BB")


BB = BitboardType()


@register_model(BitboardType)
class _BitboardModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, I128)


def _register_binary(op: Any, instruction: str) -> None:
    @infer_global(op)
    class _Template(ConcreteTemplate):
        cases = [signature(BB, BB, BB)]

    @lower_builtin(op, BB, BB)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _op, _instruction in (
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.xor, "xor"),
    (operator.iand, "and_"),
    (operator.ior, "or_"),
    (operator.ixor, "xor"),
):
    _register_binary(_op, _instruction)


@infer_global(operator.invert)
class _InvertTemplate(ConcreteTemplate):
    cases = [signature(BB, BB)]


@lower_builtin(operator.invert, BB)
def _lower_invert(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.not_(args[0])


@infer_global(bool)
@infer_global(operator.not_)
class _TruthTemplate(ConcreteTemplate):
    cases = [signature(types.boolean, BB)]


@lower_builtin(bool, BB)
def _lower_bool(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("!=", args[0], ir.Constant(I128, 0))


@lower_builtin(operator.not_, BB)
def _lower_not(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("==", args[0], ir.Constant(I128, 0))


@intrinsic(BB, types.uint64, types.uint64)
def bitboard(builder: Any, low_word: Any, high_word: Any) -> Any:
    """A bitboard from its words: squares 0..63 and 64..80."""
    upper = builder.shl(builder.zext(high_word, I128), ir.Constant(I128, 64))
    return builder.or_(builder.zext(low_word, I128), upper)


@intrinsic(types.uint64, BB)
def low(builder: Any, board: Any) -> Any:
    """Squares 0..63 (uint64)."""
    return builder.trunc(board, I64)


@intrinsic(types.uint64, BB)
def high(builder: Any, board: Any) -> Any:
    """Squares 64..80 (uint64)."""
    return builder.trunc(builder.lshr(board, ir.Constant(I128, 64)), I64)


@intrinsic(BB, types.int64)
def single(builder: Any, square: Any) -> Any:
    """The board of one square: by shifting a word; a shift of 128 bits takes twice the instructions."""
    bit = builder.shl(ir.Constant(I64, 1), builder.and_(square, ir.Constant(I64, 63)))
    upper = builder.icmp_unsigned("!=", builder.and_(square, ir.Constant(I64, 64)), ir.Constant(I64, 0))
    none = ir.Constant(I64, 0)
    high_word = builder.zext(builder.select(upper, bit, none), I128)
    low_word = builder.zext(builder.select(upper, none, bit), I128)
    return builder.or_(low_word, builder.shl(high_word, ir.Constant(I128, 64)))


@intrinsic(types.boolean, BB, types.int64)
def holds(builder: Any, board: Any, square: Any) -> Any:
    """Whether a square is on the board: one bit of one word."""
    upper = builder.icmp_unsigned("!=", builder.and_(square, ir.Constant(I64, 64)), ir.Constant(I64, 0))
    high_word = builder.trunc(builder.lshr(board, ir.Constant(I128, 64)), I64)
    word = builder.select(upper, high_word, builder.trunc(board, I64))
    return builder.trunc(builder.lshr(word, builder.and_(square, ir.Constant(I64, 63))), I1)


@intrinsic(types.int64, BB)
def lowest(builder: Any, board: Any) -> Any:
    """The lowest square (int64). Undefined for the empty board."""
    return builder.trunc(call(builder, "llvm.cttz.i128", I128, [board, ir.Constant(I1, 1)]), I64)


@intrinsic(BB, BB)
def without_lowest(builder: Any, board: Any) -> Any:
    """The board less its lowest square."""
    return builder.and_(board, builder.sub(board, ir.Constant(I128, 1)))


@intrinsic(types.int64, BB)
def count(builder: Any, board: Any) -> Any:
    """Number of squares (int64)."""
    return builder.trunc(call(builder, "llvm.ctpop.i128", I128, [board]), I64)


@intrinsic(BB, BB, types.int64)
def shift_up(builder: Any, board: Any, distance: Any) -> Any:
    """Each square's number plus ``distance``."""
    return builder.shl(board, builder.zext(distance, I128))


@intrinsic(BB, BB, types.int64)
def shift_down(builder: Any, board: Any, distance: Any) -> Any:
    """Each square's number minus ``distance``."""
    return builder.lshr(board, builder.zext(distance, I128))


@intrinsic(BB, BB, BB)
def subtract(builder: Any, a: Any, b: Any) -> Any:
    """128-bit difference, for sliding attacks by carry."""
    return builder.sub(a, b)


@intrinsic(BB, BB)
def reverse(builder: Any, board: Any) -> Any:
    """All 128 bits in reverse order."""
    return call(builder, "llvm.bitreverse.i128", I128, [board])


@intrinsic(BB, types.int64)
def ld_bb(builder: Any, address: Any) -> Any:
    """Load a bitboard (16 bytes, 8-byte aligned)."""
    board = builder.load(pointer(builder, address, I128), align=8)
    board.set_metadata("tbaa", alias_tag(builder, BY_ADDRESS))
    return board
