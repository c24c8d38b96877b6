"""The decorators of compiled functions.

A function that only Python calls may become, with its callees, one closed program. numba gives every compiled function
to everybody: LLVM then has to keep its arguments, its status and the usual calling convention, whoever calls it. A
closed program has copies of its callees which nobody else can call, so LLVM drops what the program does not use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization

from worker.jit.cache import cache_dir
from worker.jit.options import OPTIONS

_SUFFIX = ".closed"


class _ClosedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A function's machine code together with its own copies of all callees."""

    def _optimize_final_module(self) -> None:
        # numba has linked the callees into the module by now. They need other names too: with the old ones, code
        # that was loaded later crashed.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = llvm.Linkage.internal
                function.name += _SUFFIX
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _OpenLibrary(AnalysisPass):  # type: ignore[misc]
    """Chooses the library before the pass that writes LLVM code, which otherwise makes an ordinary one."""

    _name = "gougi_open_closed_library"

    def __init__(self) -> None:  # numba makes it abstract
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _ClosedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class _Shelf(_CacheLocator):  # type: ignore[misc]
    """A module's part of a folder of compiled code.

    numba's own go by where the source lies. This one goes by the module's name and what the source holds: so all copies
    of the same sources have the same compiled code, in clones and environments.
    """

    def __init__(self, folder: Path, function: Any, source: str) -> None:
        self._py_file = source  # numba reads it for a warning
        self._line = function.__code__.co_firstlineno
        self._path = _made(folder / function.__module__)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return _digest(self._py_file)

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    return folder


@cache
def _digest(source: str) -> str:
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()


@cache
def _shelves(folder: Path) -> type[Any]:
    """numba's cache, in which a function is found on the shelves of that folder."""

    class Shelf(_Shelf):
        @classmethod
        def from_function(cls, function: Any, source: str) -> Shelf:
            return cls(folder, function, source)

    class Shelves(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Shelf,)

    class Cache(FunctionCache):  # type: ignore[misc]
        _impl_class = Shelves

    return Cache


class WholeProgram(CompilerBase):  # type: ignore[misc]
    """numba's compiler, for functions that only Python calls."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes, numba's usual one with ours in it."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_OpenLibrary, IRLegalization)
        passes.finalize()
        return [passes]


def jit(*, whole: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function for compilation with the project's options.

    Trap: in a function that calls itself, write ``np.int64(1)``, never the literal ``1``, for an argument; with a
    warm cache a literal ends the process (ENGINE.md, traps).

    Args:
        whole: compile the function and all that it calls as one closed program (`WholeProgram`). It makes long
            work faster, and is for functions that Python calls: in a compiled caller it gains nothing.
    """
    return _decorator(whole, cache_dir())


def jit_of(name: str, sources: Iterable[Path]) -> tuple[Callable[..., Callable[[Callable[..., Any]], Any]], str]:
    """`jit` for compiled code of another package, which may change without the searcher being compiled again.

    Args:
        name: begins the name of its folder within `cache_dir`.
        sources: every file of that package that its compiled code calls, or takes a constant from.

    Returns:
        The decorator's maker, as `jit`, and the folder's name, which holds a hash of the sources.
    """
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    folder = f"{name}-{digest.hexdigest()[:16]}"

    def jit(*, whole: bool = False) -> Callable[[Callable[..., Any]], Any]:
        return _decorator(whole, cache_dir() / folder)

    return jit, folder


def _decorator(whole: bool, folder: Path) -> Callable[[Callable[..., Any]], Any]:
    compiler = {"pipeline_class": WholeProgram} if whole else {}

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**OPTIONS, **compiler)(function)
        compiled._cache = _shelves(folder)(function)
        return compiled

    return decorate
