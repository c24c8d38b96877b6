"""The decorator of this package's compiled code. Its cache has a separate folder, so that a user without SFNN networks
neither compiles this code nor is affected when it changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from worker.jit import cache_dir, jit_of
from worker.locks import lock

_HERE: Final = Path(__file__).parent
COMPILED: Final = ("kernel.py", "leb128.py", "portable.py", "state.py", "vector.py")
"""Files that contain compiled code, or constants that compiled code uses."""

jit, FOLDER = jit_of("sfnn", [_HERE / name for name in COMPILED])


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Keep other processes from compiling this package meanwhile: numba has crashed when several filled a cold cache.

    Raises:
        OSError: the folder cannot be used.
    """
    folder = cache_dir() / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as file:
        lock(file)
        yield
