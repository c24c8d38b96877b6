"""Rows of a network that all processes of a machine share: a file in the user's cache folder, mapped into memory.

The rows of the feature transformer are almost all of a large network (HalfKP 256x2: 64 MB, HalfKA2 1024x2: 270 MB).
The file has them as the kernels read them. The first process that needs it writes it, the others wait; pages that two
processes map are in memory only once. The file's name is a hash of the network's file, of this package's sources and of
the CPU's kernels, so that it never holds the rows of another network or another order.

A process that does not share has its rows in private memory, for which the system can use large pages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from worker.files import replacing
from worker.jit import HAS_AVX2, HAS_VNNI, cache_dir
from worker.locks import lock
from worker.trust import only_ours

LEAST_BYTES: Final = 8 << 20
"""Minimum size: smaller networks are not worth a file."""
_FOLDER: Final = "nets"
_SUFFIX: Final = ".rows"
_LEFT: Final = 2
"""Number of files that are kept, however long they have been unused."""
_UNUSED_S: Final = 30 * 86_400

Int16s = npt.NDArray[np.int16]
Fill = Callable[[Int16s], None]


def shared_rows(digest: str, shape: tuple[int, int], fill: Fill) -> Int16s | None:
    """The rows of a network, read-only; None: the cache folder cannot hold them.

    Args:
        digest: SHA-256 of the network's file, hexadecimal.
        shape: (rows, width).
        fill: writes them; it is called with zeros, int16 [rows, width], if no process has written them yet.
    """
    size = 2 * shape[0] * shape[1]
    if size < LEAST_BYTES:
        return None
    name = hashlib.sha256(f"{digest} {_layout()} {shape}".encode()).hexdigest()[:32] + _SUFFIX
    try:
        folder = only_ours(cache_dir().parent / _FOLDER)
        path = folder / name
        with (folder / f"{name}.lock").open("w") as file:
            lock(file)
            if not path.exists() or path.stat().st_size != size:
                _write(path, shape, size, fill)
                _prune(folder, path)
        os.utime(path)
        return np.memmap(path, np.int16, "r", shape=shape)
    except OSError:
        return None


def _write(path: Path, shape: tuple[int, int], size: int, fill: Fill) -> None:
    with replacing(path, mode=0o600) as file:
        _allocate(file, size)  # otherwise a full disk would kill this process while it writes
        rows: Any = np.memmap(file.name, np.int16, "r+", shape=shape)
        fill(rows)
        rows.flush()
        del rows  # Windows renames no file that is mapped


def _allocate(file: IO[bytes], size: int) -> None:
    """Reserve space on the disk. Raises OSError: there is not enough."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(1 << 20)
    for start in range(0, size, len(zeros)):
        file.write(zeros[: size - start])
    file.flush()


def _prune(folder: Path, current: Path) -> None:
    """Remove files that no process opened for a month, except the last few. Existing mappings stay valid."""
    others = [path for path in folder.glob(f"*{_SUFFIX}") if path != current]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_LEFT:]:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_S:
                path.unlink()
                path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


@cache
def _layout() -> str:
    digest = hashlib.sha256(f"{HAS_AVX2} {HAS_VNNI}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
