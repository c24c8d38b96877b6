"""Compiler options, the CPU paths chosen in Python before anything compiles, and the cache folder.

numba does not recompile a caller when a callee in another file or an imported constant changes, so the folder's name
holds a hash of every source file that compiled code has something of, the versions, the CPU and the options: a stale
cache cannot be met. Environment:

``GOUGI_CACHE_DIR``  where the folder is made (default: ``$XDG_CACHE_HOME/gougi`` or ``~/.cache/gougi``)
``GOUGI_CACHE_TRUST=1``  use it although others may write there: a pod's volume, where there is nobody else
``GOUGI_CPU=portable``  no AVX2 and no PEXT, whatever the CPU has; ``avx2``: nothing newer than AVX2 and PEXT
``GOUGI_CHECK=1``  an index outside of an array is an error, for debugging
``GOUGI_WITHOUT=a,b``  parts of the search to leave out, for measuring them (`worker.search.parts`)
``GOUGI_PARAMETERS=A=1,B=2``  other values of search parameters, for measuring them (`worker.search.parameters`)
``GOUGI_TUNE=1``  the tuning build, in which they change while it runs (`worker.search.tuning`)
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator

from worker.jit import fields
from worker.jit.whole import WholeProgram
from worker.trust import own_folder, trusted

_WORKER: Final = Path(__file__).resolve().parent.parent
_COMPILED_ROOMS: Final = ("jit", "shogi", "nnue", "search", "mate")
PLAIN_SOURCES: Final = frozenset(
    {
        "mate/solver.py",
        "nnue/format.py",
        "nnue/reference.py",
        "nnue/variation.py",
        "search/bench.py",
        "search/effort.py",
        "search/engine.py",
        "search/root_mate.py",
        "search/smp.py",
        "search/steps.py",
        "search/thread.py",
        "shogi/notation.py",
        "shogi/position.py",
        "shogi/replay.py",
        "shogi/sfen.py",
    }
)
"""Sources in the compiled rooms that compiled code does not see: when they change, the cache stays valid."""

OUTSIDE: Final = ("score.py",)
"""Sources outside of the rooms that compiled code of other files holds constants of."""

_FEATURES: Final = dict(llvm.get_host_cpu_features())
_CPU: Final = os.environ.get("GOUGI_CPU", "").lower()
_PORTABLE: Final = _CPU == "portable"
HAS_AVX2: Final = bool(_FEATURES.get("avx2")) and not _PORTABLE
"""Whether 256-bit integer vectors may be compiled in: on a CPU without them LLVM would end the process."""
HAS_VNNI: Final = (
    HAS_AVX2
    and _CPU != "avx2"
    and bool(_FEATURES.get("avxvnni") or (_FEATURES.get("avx512vnni") and _FEATURES.get("avx512vl")))
)
"""Whether four products of 8 bits may be summed in one instruction (`worker.jit.simd.vdpbusd`)."""
HAS_PEXT: Final = bool(_FEATURES.get("bmi2")) and not _PORTABLE

WITHOUT: Final = frozenset(filter(None, os.environ.get("GOUGI_WITHOUT", "").split(",")))
"""Parts of the search that are left out; `worker.search.parts` checks the names."""
PARAMETERS: Final = os.environ.get("GOUGI_PARAMETERS", "")
"""Other values of search parameters, as text, which `worker.search.parameters` reads."""
TUNING: Final = os.environ.get("GOUGI_TUNE") == "1"
"""Whether this is the tuning build."""

OPTIONS: Final[dict[str, Any]] = {
    "nogil": True,
    "error_model": "numpy",
    "cache": True,
    "boundscheck": os.environ.get("GOUGI_CHECK") == "1",
}
"""The options of every compiled function. None is inlined by hand: that doubles the compile time and gains no speed
(ENGINE.md rule 7)."""
fields.register(checked=OPTIONS["boundscheck"])


def source_digest() -> str:
    """A digest of all that decides the results of a search: every compiled source, the parts of the search that are
    left out, and the parameters with another value."""
    digest = hashlib.sha256()
    for room in _COMPILED_ROOMS:
        for source in sorted((_WORKER / room).rglob("*.py")):
            name = source.relative_to(_WORKER).as_posix()
            if name not in PLAIN_SOURCES:
                digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(repr((sorted(WITHOUT), PARAMETERS, TUNING)).encode())
    return digest.hexdigest()


def _fingerprint() -> str:
    digest = hashlib.sha256((_WORKER / "warm.py").read_bytes())  # a folder is complete when all of its stages are
    digest.update(source_digest().encode())
    for name in OUTSIDE:
        digest.update((_WORKER / name).read_bytes())
    facts = (
        sys.implementation.cache_tag,  # numba's files of another Python are others; those that say "compiled" are not
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        llvm.get_host_cpu_name(),
        sorted(_FEATURES.items()),
        HAS_AVX2,
        HAS_VNNI,
        HAS_PEXT,
        sorted(OPTIONS.items()),
        str(_WORKER),  # numba finds a function's code by where its source lies
    )
    digest.update(repr(facts).encode())
    return digest.hexdigest()[:16]


def _find_cache() -> Path:
    """Find or make the folder, and let child processes use the same one.

    It is the user's usual one. Where that cannot be used, or where others could write compiled code there, which would
    then be run, it is a folder that only this user can write, and the user is told.

    Raises:
        OSError: there is no place for any; it says why the usual one is none.
    """
    named = os.environ.get("GOUGI_CACHE_DIR")
    xdg = os.environ.get("XDG_CACHE_HOME")
    usual = Path(named) if named else (Path(xdg) if xdg else Path(os.path.expanduser("~")) / ".cache") / "gougi"
    name = f"jit-{_fingerprint()}"
    try:
        return _usable(usual, name)
    except OSError as error:
        why = f"{usual}: {error.strerror or error}" if error.filename else str(error)
        try:
            base = own_folder(Path(tempfile.gettempdir()), f"gougi-{os.geteuid()}")
        except OSError as other:
            words = f"compiled code can be kept nowhere: {why}; nor in a temporary folder: {other.strerror or other}"
            raise OSError(error.errno, words) from other
        print(f"gougi: compiled code is kept in {base}, for the usual folder cannot be used: {why}", file=sys.stderr)
        os.environ["GOUGI_CACHE_DIR"] = str(base)
        folder = base / name
        folder.mkdir(0o700, exist_ok=True)
        return folder


def _usable(base: Path, name: str) -> Path:
    """Return the folder of that name under ``base``, where it can be written and nobody else writes.

    Raises:
        OSError: it is not so.
    """
    base.mkdir(0o700, parents=True, exist_ok=True)
    if os.environ.get("GOUGI_CACHE_TRUST") == "1":
        folder = base.resolve() / name
        folder.mkdir(0o700, exist_ok=True)
        facts = folder.lstat()
        if facts.st_uid != os.geteuid() or not stat.S_ISDIR(facts.st_mode):
            raise PermissionError(f"{folder} was made by somebody else")
    else:
        folder = trusted(base) / name
        folder.mkdir(0o700, exist_ok=True)
        trusted(folder)
    with tempfile.TemporaryFile(dir=folder):
        return folder


def _load(cache: IndexDataCacheFile, key: Any) -> Any:
    """A function's compiled code from the cache; None where there is none, or what is there is damaged."""
    try:
        return _numbas_load(cache, key)
    except (EOFError, pickle.UnpicklingError):  # as a machine that lost its power may leave it
        cache.flush()
        return None


_numbas_load: Final = IndexDataCacheFile.load
IndexDataCacheFile.load = _load

_CACHE_DIR: Final = _find_cache()
os.environ["NUMBA_CACHE_DIR"] = str(_CACHE_DIR)  # for processes that numba itself starts
numba.config.CACHE_DIR = str(_CACHE_DIR)


def cache_dir() -> Path:
    """The folder that holds this build's compiled functions."""
    return _CACHE_DIR


def jit(*, whole: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function for compilation with the project's options.

    Trap: in a function that calls itself, write ``np.int64(1)``, never the literal ``1``, for an argument; with a
    warm cache a literal ends the process (ENGINE.md, traps).

    Args:
        whole: compile the function and all that it calls as one closed program (`worker.jit.whole`). It makes long
            work faster, and is for functions that Python calls: in a compiled caller it gains nothing.
    """
    return _decorator(whole, _CACHE_DIR)


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
        return _decorator(whole, _CACHE_DIR / folder)

    return jit, folder


def _decorator(whole: bool, folder: Path) -> Callable[[Callable[..., Any]], Any]:
    compiler = {"pipeline_class": WholeProgram} if whole else {}

    def decorate(function: Callable[..., Any]) -> Any:
        # numba asks for the folder once, when it decorates.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(**OPTIONS, **compiler)(function)
        except RuntimeError as error:  # "no locator available", whatever the disk has against it
            place = UserProvidedCacheLocator(function, inspect.getfile(function))
            try:
                place.ensure_cache_path()
            except OSError as reason:
                raise OSError(reason.errno, reason.strerror, reason.filename or place.get_cache_path()) from error
            raise
        finally:
            numba.config.CACHE_DIR = before

    return decorate
