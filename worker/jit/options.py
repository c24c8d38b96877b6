"""Compiler options, the CPU paths chosen in Python before anything compiles, and the cache folder.

numba does not recompile a caller when a callee in another file or an imported constant changes, so the folder's name
holds a hash of every source file of the compiled rooms, the versions, the CPU and the options: a stale cache cannot be
met. Environment:

``GOUGI_CACHE_DIR``  where the folder is made (default: ``$XDG_CACHE_HOME/gougi`` or ``~/.cache/gougi``)
``GOUGI_CPU=portable``  no AVX2 and no PEXT, whatever the CPU has; ``avx2``: nothing newer than AVX2 and PEXT
``GOUGI_CHECK=1``  bounds checks on array fields, for debugging
``GOUGI_WITHOUT=a,b``  parts of the search to leave out, for measuring them (`worker.search.parts`)
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

_WORKER: Final = Path(__file__).resolve().parent.parent
_COMPILED_ROOMS: Final = ("jit", "shogi", "nnue", "search", "mate")
PLAIN_SOURCES: Final = frozenset(
    {
        "mate/solver.py",
        "nnue/format.py",
        "nnue/reference.py",
        "nnue/variation.py",
        "search/bench.py",
        "search/engine.py",
        "search/root_mate.py",
        "search/rules.py",
        "search/smp.py",
        "search/steps.py",
        "search/thread.py",
        "search/timing.py",
        "search/usi.py",
        "search/usi_options.py",
        "shogi/notation.py",
        "shogi/position.py",
        "shogi/replay.py",
        "shogi/sfen.py",
    }
)
"""Sources of the compiled rooms that hold nothing which compiled code sees: a change of them leaves the cache valid."""

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
"""Parts of the search that are left out; who knows them checks the names (`worker.search.parts`)."""

OPTIONS: Final[dict[str, Any]] = {
    "nogil": True,
    "error_model": "numpy",
    "cache": True,
    "boundscheck": os.environ.get("GOUGI_CHECK") == "1",
}
"""Of every compiled function. No inlining by hand: it doubles the compile time and gains nothing (ENGINE.md rule 7)."""


def _fingerprint() -> str:
    digest = hashlib.sha256((_WORKER / "warm.py").read_bytes())  # a folder is complete when all of its stages are
    for room in _COMPILED_ROOMS:
        for source in sorted((_WORKER / room).rglob("*.py")):
            name = source.relative_to(_WORKER).as_posix()
            if name not in PLAIN_SOURCES:
                digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")
    facts = (
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        llvm.get_host_cpu_name(),
        sorted(_FEATURES.items()),
        HAS_AVX2,
        HAS_VNNI,
        HAS_PEXT,
        sorted(OPTIONS.items()),
        sorted(WITHOUT),
    )
    digest.update(repr(facts).encode())
    return digest.hexdigest()[:16]


def _base_dir() -> Path:
    """The first folder that can be written: numba fails at import where none can."""
    named = os.environ.get("GOUGI_CACHE_DIR")
    if named:
        return Path(named)
    xdg = os.environ.get("XDG_CACHE_HOME")
    home = Path(xdg) if xdg else Path(os.path.expanduser("~")) / ".cache"
    candidate = home / "gougi"
    try:
        candidate.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=candidate):
            return candidate
    except OSError:
        return Path(tempfile.gettempdir()) / f"gougi-{os.getuid()}"


_CACHE_DIR: Final = _base_dir() / f"jit-{_fingerprint()}"
try:
    _CACHE_DIR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=_CACHE_DIR):  # numba's own words for a folder that it cannot write to help nobody
        pass
except OSError as error:
    raise OSError(error.errno, error.strerror, f"{_CACHE_DIR} (GOUGI_CACHE_DIR)") from error
os.environ["NUMBA_CACHE_DIR"] = str(_CACHE_DIR)  # for processes that numba itself starts
numba.config.CACHE_DIR = str(_CACHE_DIR)


def cache_dir() -> Path:
    """The folder that holds this build's compiled functions."""
    return _CACHE_DIR


def jit(signature: Any = None) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function for compilation with the project's options. A recursive function needs its signature.

    Trap: in a function that calls itself, write ``np.int64(1)``, never the literal ``1``, for an argument; with a
    warm cache a literal ends the process (ENGINE.md, traps).
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if signature is None:
            return numba.njit(**OPTIONS)(function)
        return numba.njit(signature, **OPTIONS)(function)

    return decorate
