"""The tuning build (``GOUGI_TUNE=1``): search parameters that can change at run time, without recompilation.

The search is written with ``p.LATE_MOVES``, a constant of the module `worker.search.parameters`. In this build the
compiler instead reads each parameter in `NAMES` from one array of this process, which compiled code knows by the name
of an external symbol: each process that loads the code from the cache provides its own array. Other builds contain none
of this.
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
from worker.search.parameters import values_of

_GROUPS: Final = {
    "lmr": (
        "REDUCTION_LOG",
        "REDUCTION_BASE",
        "REDUCTION_WINDOW",
        "REDUCTION_NOT_IMPROVING[0]",
        "REDUCTION_FORMER_FIRST",
        "REDUCTION_FORMER",
        "REDUCTION_PV",
        "REDUCTION_FORMER_SCORE",
        "REDUCTION_FORMER_DEPTH",
        "REDUCTION_FORMER_CUT",
        "REDUCTION_LATE_BASE",
        "REDUCTION_NUMBER",
        "REDUCTION_CUT",
        "REDUCTION_CUT_NO_MOVE",
        "REDUCTION_TABLE_CAPTURE",
        "REDUCTION_CUTOFFS",
        "REDUCTION_MANY_CUTOFFS",
        "REDUCTION_CUTOFFS_ALL",
        "REDUCTION_TABLE_MOVE",
        "REDUCTION_HISTORY[0]",
        "REDUCTION_ALL[0]",
        "STAT_CAPTURE[0]",
        "FULL_NO_MOVE",
        "FULL_REDUCTION",
        "FULL_REDUCTION_TWICE",
    ),
    "margins": (
        "HINDSIGHT_SUM",
        "REVERSE_SLOPE",
        "REVERSE_SLOPE_GROWTH",
        "REVERSE_SLOPE_MOST",
        "REVERSE_SLOPE_MISS",
        "REVERSE_IMPROVING",
        "REVERSE_WORSENING",
        "NULL_SLOPE",
        "NULL_IMPROVING",
        "NULL_BASE",
        "NULL_EVALUATION",
        "PROBCUT_MARGIN",
        "PROBCUT_IMPROVING",
        "SMALL_PROBCUT_MARGIN",
        "CAPTURE_FUTILITY_BASE",
        "CAPTURE_FUTILITY_SLOPE",
        "CAPTURE_FUTILITY_HISTORY",
        "CAPTURE_SEE_SLOPE",
        "CAPTURE_SEE_HISTORY",
        "HISTORY_PRUNING",
        "HISTORY_DEPTH",
        "HISTORY_BUTTERFLY[0]",
        "QUIET_FUTILITY_BASE",
        "QUIET_FUTILITY_NO_BEST",
        "QUIET_FUTILITY_SLOPE",
        "QUIET_FUTILITY_ABOVE",
        "QUIET_SEE_SQUARE",
        "STAND_FUTILITY",
        "QUIESCENCE_SEE",
    ),
    "singular": (
        "SINGULAR_SLOPE",
        "SINGULAR_SLOPE_PV",
        "DOUBLE_BASE",
        "DOUBLE_PV",
        "DOUBLE_QUIET",
        "DOUBLE_DEEP",
        "DOUBLE_TABLE_HISTORY[0]",
        "TRIPLE_BASE",
        "TRIPLE_PV",
        "TRIPLE_QUIET",
        "TRIPLE_FORMER",
        "TRIPLE_DEEP",
        "MULTICUT_MALUS",
    ),
    "order": (
        "CAPTURE_VALUE",
        "GOOD_CAPTURE",
        "CHECK_BONUS",
        "CHECK_SEE",
        "SORT_SLOPE",
        "GOOD_QUIET",
        "THREAT",
    ),
    "history": (
        "TABLE_BONUS",
        "TABLE_PRIOR_MALUS",
        "CHANGE_OFFSET",
        "CHANGE_BUTTERFLY",
        "CHANGE_PAWN",
        "RESEARCH_BONUS",
        "BONUS",
        "MALUS",
        "BONUS_TABLE_MOVE",
        "BONUS_STAT",
        "BONUS_QUIET",
        "BONUS_CAPTURE",
        "BONUS_TRIED",
        "MALUS_QUIET",
        "MALUS_QUIET_FADE",
        "MALUS_CAPTURE",
        "MALUS_PRIOR",
        "SHARE_CONTINUATION",
        "SHARE_PAWN_BONUS",
        "SHARE_PAWN_MALUS",
        "CONTINUATION",
        "CONTINUATION_FIRST",
        "TABLE_MOVE_BONUS",
        "TABLE_MOVE_MALUS",
        "PRIOR_BASE",
        "PRIOR_STAT",
        "PRIOR_DEPTH",
        "PRIOR_LATE",
        "PRIOR_BELOW",
        "PRIOR_BELOW_MARGIN",
        "PRIOR_ABOVE",
        "PRIOR_ABOVE_MARGIN",
        "PRIOR_BONUS",
        "PRIOR_CONTINUATION[0]",
        "PRIOR_BUTTERFLY[0]",
        "PRIOR_PAWN[0]",
        "PRIOR_CAPTURE",
    ),
    "correction": (
        "REVERSE_CORRECTION",
        "REDUCTION_CORRECTION",
        "SINGULAR_CORRECTION",
        "CORRECTION_PAWN",
        "CORRECTION_MINOR",
        "CORRECTION_PIECES",
        "CORRECTION_MOVES",
        "CORRECTION_BONUS",
        "CORRECTION_BONUS_SHARE",
        "CORRECTION_SHARE_MINOR",
        "CORRECTION_SHARE_PIECES",
        "CORRECTION_SHARE_TWO",
        "CORRECTION_SHARE_FOUR",
    ),
    "depths": (
        "TABLE_ANY_NODE_DEPTH",
        "TABLE_PRIOR_MOVES",
        "HINDSIGHT_DEEPER",
        "HINDSIGHT_SHALLOWER",
        "REVERSE_DEPTH",
        "NULL_REDUCTION",
        "NULL_DIVISOR",
        "NULL_VERIFY_DEPTH",
        "INTERNAL_DEPTH",
        "INTERNAL_PRIOR",
        "PROBCUT_DEPTH",
        "PROBCUT_LESS",
        "PROBCUT_LESS_IMPROVING",
        "SMALL_PROBCUT_LESS",
        "LATE_MOVES",
        "CAPTURE_FUTILITY_DEPTH",
        "QUIET_FUTILITY_DEPTH",
        "SINGULAR_DEPTH",
        "SINGULAR_TABLE_LESS",
        "ALPHA_DEPTHS",
        "ALPHA_LESS",
        "QUIET_MOVES",
        "PRIOR_LATE_MOVES",
    ),
}
"""The parameters of each group; the name of a tuple stands for all its values."""
_VALUES: Final = values_of(vars(parameters))
GROUPS: Final = {
    group: tuple(key for name in names for key in _VALUES if key == name or key.startswith(f"{name}["))
    for group, names in _GROUPS.items()
}
"""Parameters that are tuned together. ``depths`` has those that count plies or moves: whole steps, so they are
coarse."""
NAMES: Final = tuple(name for group in GROUPS.values() for name in group)
"""The parameters that this build can change, in the order of their groups."""

_SYMBOL: Final = "gougi_parameters"
_PLACES: Final = {name: place for place, name in enumerate(NAMES)}
_STARTS: Final = {name: value for name, value in _VALUES.items() if name in _PLACES}
_ARRAY: Final = aligned_zeros(len(NAMES), np.int64)
_lock = threading.Lock()


def complete(vector: Mapping[str, int]) -> dict[str, int]:
    """``vector``, completed with the values in the source.

    Raises:
        ValueError: it names a parameter that may not be tuned.
    """
    if unknown := sorted(vector.keys() - _STARTS.keys()):
        raise ValueError(f"no parameter to tune: {', '.join(unknown)}")
    return {**_STARTS, **vector}


def array_of(vector: Mapping[str, int]) -> Any:
    """The values of a vector from `complete` (int64), in the form that `in_force` takes."""
    return np.array([vector[name] for name in NAMES], np.int64)


@contextmanager
def in_force(values: Any) -> Iterator[None]:
    """Make compiled code of this process use these values; for one search at a time."""
    with _lock:
        _ARRAY[:] = values
        yield


def install() -> None:
    """Turn this process into the tuning build. Call it once, before anything is compiled or loaded."""
    _ARRAY[:] = array_of(_STARTS)
    llvm.add_symbol(_SYMBOL, _ARRAY.ctypes.data)
    register_rewrite("before-inference")(_ReadParameters)


def _table(module: Any) -> Any:
    """The array as a variable of ``module`` that is defined elsewhere."""
    found = module.globals.get(_SYMBOL)
    return found or llvm_ir.GlobalVariable(module, llvm_ir.ArrayType(I64, len(NAMES)), _SYMBOL)


def _load(builder: Any, name: str, value: int) -> Any:
    """Load the current value of a parameter at run time; ``value`` if it is not tuned."""
    if name not in _PLACES:
        return llvm_ir.Constant(I64, value)
    at = [llvm_ir.Constant(I32, 0), llvm_ir.Constant(I32, _PLACES[name])]
    return builder.load(builder.gep(_table(builder.module), at))


def _reader(name: str, constant: int | tuple[int, ...]) -> Any:
    """A compiled function without arguments that returns the value of a parameter; for a tuple, all its values."""

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
    """Replaces each ``p.NAME`` by a call of its reader."""

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
