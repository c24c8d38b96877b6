"""Compiled code that only some networks need. It has a folder of its own in the cache, so that users of other networks
neither compile it nor are affected when it changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from numba import int64

from worker.jit import cache_dir, jit_of
from worker.locks import lock


class Apart:
    """Compiled functions of some source files, with a cache folder named for the content of these files.

    Attributes:
        jit: the decorator of its functions.
    """

    def __init__(self, name: str, sources: Iterable[Path]) -> None:
        """Arguments as those of `worker.jit.jit_of`."""
        jit, folder = jit_of(name, sources)
        self.jit: Final = jit
        self._folder: Final = folder

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Keep other processes from compiling it meanwhile: numba has crashed when several filled a cold cache.

        Raises:
            OSError: the folder cannot be used.
        """
        folder = cache_dir() / self._folder
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as file:
            lock(file)
            yield

    def address(self, function: Any) -> int:
        """The address, in this process, of one of its functions for `worker.jit.memory.call_at`. Compiles it, or loads
        it from the cache.

        Raises:
            OSError: as `one_at_a_time`.
        """
        signature = (int64, int64)
        with self.one_at_a_time():
            function.compile(signature)
        compiled = function.overloads[signature]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))
