"""The decorator of this package's compiled code. It has a folder of its own in the cache, so that who uses no network
of this family neither compiles it nor notices when it changes."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from worker.jit import cache_dir, jit_of

_HERE: Final = Path(__file__).parent
COMPILED: Final = ("kernel.py", "leb128.py", "portable.py", "state.py", "vector.py")
"""Files that compiled code is in, or takes a constant from."""

jit, FOLDER = jit_of("sfnn", [_HERE / name for name in COMPILED])


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Within this no other process compiles code of this package: a cold cache that several filled has crashed numba.

    Raises:
        OSError: the folder cannot be used.
    """
    folder = cache_dir() / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
