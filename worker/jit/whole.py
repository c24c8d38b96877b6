"""The compiler of functions that only Python calls: such a function and its callees become one closed program.

numba gives every compiled function to everybody. LLVM then has to keep its arguments, its status and the usual calling
convention, whoever calls it. A closed program has copies of its callees which nobody else can call, so LLVM drops what
the program does not use.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization

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


class WholeProgram(CompilerBase):  # type: ignore[misc]
    """numba's compiler, for functions that only Python calls."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes, numba's usual one with ours in it."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_OpenLibrary, IRLegalization)
        passes.finalize()
        return [passes]
