"""The tuning build (``GOUGI_TUNE=1``): search parameters that change while it runs, without compiling again.

The search is written with ``p.LATE_MOVES``, a constant of the module `worker.search.parameters`, and stays so. Here the
compiler reads a parameter of `worker.search.tunable` instead from one array of this process, which compiled code knows
by the name of an external symbol: each process that loads it from the cache gives it an array of its own. What is not
the tuning build has none of this.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir as llvm_ir
from numba import types
from numba.core import ir
from numba.core.rewrites import Rewrite, register_rewrite
from numba.extending import intrinsic

from worker.jit.llvm import I32, I64
from worker.jit.memory import aligned_zeros
from worker.search import parameters
from worker.search.tunable import NAMES
from worker.search.vector import values_of

_SYMBOL: Final = "gougi_parameters"
_PLACES: Final = {name: place for place, name in enumerate(NAMES)}
_STARTS: Final = {name: value for name, value in values_of(vars(parameters)).items() if name in _PLACES}
_ARRAY: Final = aligned_zeros(len(NAMES), np.int64)
_lock = threading.Lock()


def complete(vector: Mapping[str, int]) -> dict[str, int]:
    """``vector`` with the values that the sources give for what it does not name.

    Raises:
        ValueError: it names a parameter that may not be tuned.
    """
    if unknown := sorted(vector.keys() - _STARTS.keys()):
        raise ValueError(f"no parameter to tune: {', '.join(unknown)}")
    return {**_STARTS, **vector}


def array_of(vector: Mapping[str, int]) -> Any:
    """The values of a vector of `complete` (int64), as `in_force` takes them."""
    return np.array([vector[name] for name in NAMES], np.int64)


@contextmanager
def in_force(values: Any) -> Iterator[None]:
    """Let compiled code of this process read these values; one search at a time has them."""
    with _lock:
        _ARRAY[:] = values
        yield


def install() -> None:
    """Make this process one of the tuning build. Once, and before anything is compiled or loaded."""
    _ARRAY[:] = array_of(_STARTS)
    llvm.add_symbol(_SYMBOL, _ARRAY.ctypes.data)
    register_rewrite("before-inference")(_ReadParameters)


def _table(module: Any) -> Any:
    """The array as a variable of ``module`` that is defined elsewhere."""
    found = module.globals.get(_SYMBOL)
    return found or llvm_ir.GlobalVariable(module, llvm_ir.ArrayType(I64, len(NAMES)), _SYMBOL)


def _load(builder: Any, name: str, value: int) -> Any:
    """The value of a parameter as it is when the code runs; of one that is not tuned, ``value``."""
    if name not in _PLACES:
        return llvm_ir.Constant(I64, value)
    at = [llvm_ir.Constant(I32, 0), llvm_ir.Constant(I32, _PLACES[name])]
    return builder.load(builder.gep(_table(builder.module), at))


def _reader(name: str, constant: int | tuple[int, ...]) -> Any:
    """A compiled function without arguments that has the value of a parameter; of a tuple all of its values."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typingctx: Any) -> Any:
        if isinstance(constant, int):
            return types.int64(), lambda context, builder, _sig, _args: _load(builder, name, constant)

        def codegen(context: Any, builder: Any, sig: Any, _args: Any) -> Any:
            values = [_load(builder, f"{name}[{place}]", value) for place, value in enumerate(constant)]
            return context.make_tuple(builder, sig.return_type, values)

        return types.UniTuple(types.int64, len(constant))(), codegen

    return read


_READERS: Final = {
    name: _reader(name, getattr(parameters, name)) for name in dict.fromkeys(key.partition("[")[0] for key in NAMES)
}


class _ReadParameters(Rewrite):  # type: ignore[misc]
    """Puts a call of its reader in the place of each ``p.NAME``."""

    def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        self._func_ir, self._block = func_ir, block
        self._found = [
            statement
            for statement in block.find_insts(ir.Assign)
            if isinstance(statement.value, ir.Expr)
            and statement.value.op == "getattr"
            and statement.value.attr in _READERS
            and self._is_parameters(statement.value.value)
        ]
        return bool(self._found)

    def _is_parameters(self, variable: Any) -> bool:
        try:
            definition = self._func_ir.get_definition(variable)
        except KeyError:
            return False
        return isinstance(definition, ir.Global) and definition.value is parameters

    def apply(self) -> Any:
        block = self._block.copy()
        block.clear()
        for statement in self._block.body:
            if statement not in self._found:
                block.append(statement)
                continue
            name, where = statement.value.attr, statement.loc
            function = block.scope.redefine("$parameter", where)
            reader = ir.Global(f"read_{name}", _READERS[name], where)
            call = ir.Expr.call(function, (), (), where)
            block.append(ir.Assign(reader, function, where))
            block.append(ir.Assign(call, statement.target, where))
            self._func_ir._definitions[function.name] = [reader]
            self._func_ir._definitions[statement.target.name] = [call]
        return block
