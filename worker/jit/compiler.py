"""The decorators of compiled functions.

A function that only Python calls may become, with its callees, one closed program. numba exports every compiled
function, so LLVM has to keep its arguments, its status and the usual calling convention for any caller. A closed
program has its own copies of its callees, which nothing else can call, so LLVM drops everything that the program does
not use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core.caching import CompileResultCacheImpl, _CacheLocator
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization

from worker.jit.cache import cache_dir
from worker.jit.loading import LoadedLibrary, LoadingCache
from worker.jit.options import OPTIONS

_SUFFIX = ".closed"


class _ClosedLibrary(LoadedLibrary):
    """A function's machine code together with its own copies of all callees."""

    def _optimize_final_module(self) -> None:
        # numba has linked the callees into the module by now. They also need new names: with the old ones, code that
        # was loaded later crashed.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = llvm.Linkage.internal
                function.name += _SUFFIX
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _OpenLibrary(AnalysisPass):  # type: ignore[misc]
    """Chooses the library before the pass that writes LLVM code, which would otherwise make an ordinary one."""

    _name = "gougi_open_closed_library"

    def __init__(self) -> None:  # abstract in numba
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _ClosedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class _Shelf(_CacheLocator):  # type: ignore[misc]
    """A module's part of a folder of compiled code.

    numba's own class uses the location of the source. This one uses the module's name and the content of the source, so
    all copies of the same sources, in clones and environments, share compiled code.
    """

    def __init__(self, folder: Path, function: Any, source: str) -> None:
        self._py_file = source  # numba uses it for a warning
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
    """numba's cache, which finds functions on the shelves of that folder."""

    class Shelf(_Shelf):
        @classmethod
        def from_function(cls, function: Any, source: str) -> Shelf:
            return cls(folder, function, source)

    class Shelves(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Shelf,)

    class Cache(LoadingCache):
        _impl_class = Shelves

    return Cache


class WholeProgram(CompilerBase):  # type: ignore[misc]
    """numba's compiler, for functions that only Python calls."""

    def define_pipelines(self) -> list[Any]:
        """Return the list of passes: numba's usual one, with ours added."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_OpenLibrary, IRLegalization)
        passes.finalize()
        return [passes]


def jit(*, whole: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function for compilation with the project's options.

    Trap: in a function that calls itself, write ``np.int64(1)``, never the literal ``1``, for an argument; with a warm
    cache a literal ends the process (ENGINE.md, traps).

    Args:
        whole: compile the function and everything that it calls as one closed program (`WholeProgram`). It makes long
            work faster, and is for functions that Python calls: in a compiled caller it gains nothing.
    """
    return _decorator(whole, cache_dir())


def jit_of(name: str, sources: Iterable[Path]) -> tuple[Callable[..., Callable[[Callable[..., Any]], Any]], str]:
    """`jit` for compiled code of another package, which may change without recompiling the searcher.

    Args:
        name: the beginning of its folder's name within `cache_dir`.
        sources: every file of that package whose functions or constants its compiled code uses.

    Returns:
        A function like `jit`, and the folder's name, which contains a hash of the sources.
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
