"""Reading and writing of the fields of Records in compiled code.

numba would let a negative index of ``th.row[i]`` count from the end, at the cost of a comparison and a selection at
every access, in every loop. Here an index is used as it is: ``GOUGI_CHECK=1`` makes every index outside 0 … length - 1
an error.

Tags for type-based alias analysis also tell LLVM which memory cannot overlap: fields of different names or shapes, and
memory accessed by address (`worker.jit.memory`). So a store to one keeps values of the others in registers. No field of
a Record may be read or written by address in compiled code.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin, lower_getattr_generic, lower_setattr_generic
from numba.np.arrayobj import make_array, record_getattr, record_setattr

from worker.jit.llvm import I16, I32, I64, alias_tag
from worker.jit.simd import V256


def _element(context: Any, builder: Any, signature: Any, args: Any, checked: bool) -> tuple[Any, Any]:
    """The address of the element that ``args`` (field, index) name, and its alias tag."""
    field, index = signature.args[:2]
    if field.ndim != 1 or not isinstance(field.dtype, types.Integer):
        raise TypeError(f"a Record's field {field}: expected integers in one dimension")
    at = context.cast(builder, args[1], index, types.int64 if index.signed else types.uint64)
    if checked:
        outside = builder.icmp_unsigned(">=", at, ir.Constant(I64, field.shape[0]))
        with cgutils.if_unlikely(builder, outside):
            message = f"index outside of a Record's {field}"
            context.call_conv.return_user_exc(builder, IndexError, (message,))
    first = make_array(field)(context, builder, value=args[0]).data
    return builder.gep(first, [at], inbounds=not checked), alias_tag(builder, f"{field.dtype} {field.shape[0]}")


@extending.intrinsic
def four_words(_typing: Any, field: Any, index: Any) -> Any:
    """Four words of a Record's int64 field, from ``index`` on: a V256.

    All four must lie within the field; ``GOUGI_CHECK=1`` does not check this.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, tag = _element(context, builder, signature, args, checked=False)
        kind = context.get_value_type(V256)
        words = builder.load(builder.bitcast(address, kind.as_pointer()), align=8)
        words.set_metadata("tbaa", tag)
        return words

    return V256(field, index), codegen


@extending.intrinsic
def sixteen_equal(_typing: Any, field: Any, index: Any, word: Any) -> Any:
    """Which of sixteen words of a Record's field equal ``word``: bit i (int64) stands for the word at ``index`` + i.

    All sixteen must lie within the Record; ``GOUGI_CHECK=1`` does not check this.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, tag = _element(context, builder, signature, args, checked=False)
        lanes = ir.VectorType(I64, 16)
        words = builder.load(builder.bitcast(address, lanes.as_pointer()), align=8)
        words.set_metadata("tbaa", tag)
        undefined = ir.Constant(lanes, ir.Undefined)
        first = builder.insert_element(undefined, args[2], ir.Constant(I32, 0))
        all_lanes = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, 16), [0] * 16))
        equal = builder.icmp_unsigned("==", words, all_lanes)
        return builder.zext(builder.bitcast(equal, I16), I64)

    return types.int64(field, index, word), codegen


@extending.intrinsic
def eight_bytes(_typing: Any, field: Any, index: Any) -> Any:
    """Eight elements of a Record's int8 field, from ``index`` on, as one uint64 whose lowest byte is the first of them.

    All eight must lie within the field; ``GOUGI_CHECK=1`` does not check this.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, tag = _element(context, builder, signature, args, checked=False)
        word = builder.load(builder.bitcast(address, I64.as_pointer()), align=1)
        word.set_metadata("tbaa", tag)
        return word

    return types.uint64(field, index), codegen


@extending.intrinsic
def record_address(_typing: Any, record: Any) -> Any:
    """The address (int64) of a Record, for a function that is called by `worker.jit.memory.call_at`."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], I64)

    return types.int64(record), codegen


def record_at(kind: types.Record) -> Any:
    """A function that takes the Record of type ``kind`` from its address."""

    @extending.intrinsic
    def record(_typing: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return kind(address), codegen

    return record


def _plain(record: Any, name: str) -> bool:
    """Whether a field is one integer."""
    return isinstance(record.typeof(name), types.Integer) and record.aligned


def register(checked: bool) -> None:
    """Make numba access Record fields in this way. Call it before anything compiles.

    Args:
        checked: whether an index outside the field raises IndexError; otherwise the behaviour is undefined, as in C.
    """

    @lower_builtin(operator.getitem, types.NestedArray, types.Integer)
    def _get(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, tag = _element(context, builder, signature, args, checked)
        element = builder.load(address)
        element.set_metadata("tbaa", tag)
        return element

    @lower_builtin(operator.setitem, types.NestedArray, types.Integer, types.Any)
    def _set(context: Any, builder: Any, signature: Any, args: Any) -> None:
        address, tag = _element(context, builder, signature, args, checked)
        element = context.cast(builder, args[2], signature.args[2], signature.args[0].dtype)
        builder.store(element, address).set_metadata("tbaa", tag)

    @lower_getattr_generic(types.Record)
    def _get_field(context: Any, builder: Any, record: Any, value: Any, name: str) -> Any:
        if not _plain(record, name):
            return record_getattr(context, builder, record, value, name)
        kind = context.get_data_type(record.typeof(name))
        number = builder.load(cgutils.get_record_member(builder, value, record.offset(name), kind))
        number.set_metadata("tbaa", alias_tag(builder, name))
        return number

    @lower_setattr_generic(types.Record)
    def _set_field(context: Any, builder: Any, signature: Any, args: Any, name: str) -> Any:
        record, given = signature.args
        if not _plain(record, name):
            return record_setattr(context, builder, signature, args, name)
        kind = record.typeof(name)
        address = cgutils.get_record_member(builder, args[0], record.offset(name), context.get_data_type(kind))
        store = builder.store(context.cast(builder, args[1], given, kind), address)
        store.set_metadata("tbaa", alias_tag(builder, name))
        return None
