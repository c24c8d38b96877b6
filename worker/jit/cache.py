"""The folder of compiled code: its name, its location, and the removal of old ones.

numba does not recompile a caller when a callee in another file or an imported constant changes, so the folder's name
contains a hash of every source file that compiled code depends on, the versions, the CPU and the options. So a stale
cache is never used. ``GOUGI_CACHE_DIR`` sets the parent folder (default: ``$XDG_CACHE_HOME/gougi`` or
``~/.cache/gougi``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile

from worker.files import cache_folder
from worker.jit.cpu import TARGET
from worker.jit.options import (
    OPTIONS,
    PARAMETERS,
    TUNING,
    WITHOUT,
)
from worker.trust import only_ours, own_folder

_WORKER: Final = Path(__file__).resolve().parent.parent
_COMPILED_ROOMS: Final = ("jit", "shogi", "nnue", "search", "mate")
PLAIN_SOURCES: Final = frozenset(
    {
        "jit/loading.py",
        "mate/solver.py",
        "nnue/architecture.py",
        "nnue/beside.py",
        "nnue/format.py",
        "nnue/network.py",
        "nnue/reference.py",
        "nnue/shape.py",
        "nnue/shared.py",
        "search/bench.py",
        "search/engine.py",
        "search/root_mate.py",
        "search/thread.py",
        "shogi/notation.py",
        "shogi/position.py",
        "shogi/sfen.py",
    }
)
"""Sources in the compiled packages that compiled code does not depend on: when they change, the cache stays valid."""

APART: Final = ("nnue/sfnn/", "nnue/attacked.py")
"""Sources whose compiled code has its own folder within this one (`worker.nnue.apart`)."""

OUTSIDE: Final = ("score.py",)
"""Sources outside these packages whose constants are part of compiled code."""

_LEFT: Final = 4
"""The number of old folders to keep, however long they have been unused."""
_UNUSED_S: Final = 30 * 86_400


def mark_used(folder: Path) -> None:
    """Note that a process uses a folder of compiled code from now on."""
    with contextlib.suppress(OSError):  # the folder may be read-only
        os.utime(folder)


def prune(current: Path) -> None:
    """Remove the neighbours of ``current`` that no process has started to use for a month, except the last few."""
    others = [path for path in current.parent.glob("jit-*") if path != current and path.is_dir()]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_LEFT:]:
        if time.time() - path.stat().st_mtime > _UNUSED_S:
            shutil.rmtree(path, ignore_errors=True)


def source_digest() -> str:
    """A digest of everything that determines the results of a search: every compiled source, the parts of the search
    that are switched off, and the changed parameters."""
    digest = hashlib.sha256()
    for room in _COMPILED_ROOMS:
        for source in sorted((_WORKER / room).rglob("*.py")):
            name = source.relative_to(_WORKER).as_posix()
            if name not in PLAIN_SOURCES and not name.startswith(APART):
                digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(repr((sorted(WITHOUT), PARAMETERS, TUNING)).encode())
    return digest.hexdigest()


def _fingerprint() -> str:
    digest = hashlib.sha256((_WORKER / "warm.py").read_bytes())  # a folder is complete when it has all stages
    digest.update(source_digest().encode())
    for name in OUTSIDE:
        digest.update((_WORKER / name).read_bytes())
    facts = (
        sys.implementation.cache_tag,  # numba's files are specific to a Python version; "compiled" files are not
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        llvm.get_process_triple(),
        TARGET,
        sorted(OPTIONS.items()),
        __name__,  # compiled code contains the names of its modules
    )
    digest.update(repr(facts).encode())
    return digest.hexdigest()[:16]


def _find_cache() -> Path:
    """Find or make the folder, and make child processes use the same one.

    It is normally the user's usual cache folder. If that cannot be used, or if others could write code there that we
    would run, it is a folder that only this user can write to, with a message to the user.

    Raises:
        OSError: no folder can be used; it says why the usual one cannot.
    """
    usual, name = cache_folder(), f"jit-{_fingerprint()}"
    try:
        return _usable(usual / name)
    except OSError as error:
        why = f"{usual}: {error.strerror or error}" if error.filename else error.strerror or str(error)
        try:
            base = own_folder(
                Path(tempfile.gettempdir()), f"gougi-{os.geteuid()}" if hasattr(os, "geteuid") else "gougi"
            )
        except OSError as other:
            words = f"compiled code can be kept nowhere: {why}; nor in a temporary folder: {other.strerror or other}"
            raise OSError(error.errno, words) from other
        print(f"gougi: compiled code is kept in {base}, for the usual folder cannot be used: {why}", file=sys.stderr)
        os.environ["GOUGI_CACHE_DIR"] = str(base)
        folder = base / name
        folder.mkdir(0o700, exist_ok=True)
        return folder


def _usable(folder: Path) -> Path:
    """Make the folder if it is missing; return it if only this user can write to it. Raises OSError otherwise."""
    only_ours(folder)
    with tempfile.TemporaryFile(dir=folder):
        return folder


def _load(cache: IndexDataCacheFile, key: Any) -> Any:
    """A function's compiled code from the cache; None if there is none, or it is damaged."""
    try:
        return _numbas_load(cache, key)
    except (EOFError, pickle.UnpicklingError):  # such as after a power failure
        cache.flush()
        return None


_numbas_load: Final = IndexDataCacheFile.load
IndexDataCacheFile.load = _load

_CACHE_DIR: Final = _find_cache()


def cache_dir() -> Path:
    """The folder with this build's compiled functions."""
    return _CACHE_DIR
