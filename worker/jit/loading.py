"""Loading of compiled code from the cache, without what only the compiler needs.

numba prepares for a compilation whenever it loads a function: it imports the types and functions of all that it can
compile, and reads the function's bitcode, which compiled callers would include. Together that takes most of the time
of loading, and a started engine compiles nothing. Here both wait until something is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.runtime import rtsys


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code, new or from the cache; from the cache its bitcode is read on first use."""

    _bitcode: bytes | None = None
    """Of code from the cache only."""
    _shared_module: Any

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind != "object":
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        code, library._bitcode = data
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        return library

    def get_pointer_to_function(self, name: str) -> int:
        """The function's address; 0: there is none of this name."""
        if self._bitcode is None:
            return int(super().get_pointer_to_function(name))
        return int(self._codegen._engine.get_function_address(name))

    def _get_module_for_linking(self) -> Any:
        if self._bitcode is not None and self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()


JITCPUCodegen._library_class = LoadedLibrary


class LoadingCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function from the cache, or None."""
        rtsys.initialize(target_context)  # the symbols that compiled code refers to
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
