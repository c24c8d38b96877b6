"""Compiler options, and the CPU paths, which Python chooses before anything compiles. Environment:

``GOUGI_CPU=portable``  no AVX2 and no PEXT, whatever the CPU has; ``avx2``: nothing newer than AVX2 and PEXT
``GOUGI_CHECK=1``  an index outside of an array is an error, for debugging
``GOUGI_WITHOUT=a,b``  parts of the search to leave out, for measuring them (`worker.search.parts`)
``GOUGI_PARAMETERS=A=1,B=2``  other values of search parameters, for measuring them (`worker.search.parameters`)
``GOUGI_TUNE=1``  the tuning build, in which they change while it runs (`worker.search.tuning`)
"""

from __future__ import annotations

import os
from typing import Any, Final

import llvmlite.binding as llvm

from worker.jit import fields

FEATURES: Final = dict(llvm.get_host_cpu_features())
_CPU: Final = os.environ.get("GOUGI_CPU", "").lower()
_PORTABLE: Final = _CPU == "portable"
HAS_AVX2: Final = bool(FEATURES.get("avx2")) and not _PORTABLE
"""Whether to compile 256-bit integer vectors: on a CPU without them LLVM would end the process."""
HAS_VNNI: Final = (
    HAS_AVX2
    and _CPU != "avx2"
    and bool(FEATURES.get("avxvnni") or (FEATURES.get("avx512vnni") and FEATURES.get("avx512vl")))
)
"""Whether four products of 8 bits may be summed in one instruction (`worker.jit.simd.vdpbusd`)."""
HAS_PEXT: Final = bool(FEATURES.get("bmi2")) and not _PORTABLE

WITHOUT: Final = frozenset(filter(None, os.environ.get("GOUGI_WITHOUT", "").split(",")))
"""Parts of the search that are left out; `worker.search.parts` checks the names."""
PARAMETERS: Final = os.environ.get("GOUGI_PARAMETERS", "")
"""Other values of search parameters, as text, which `worker.search.parameters` reads."""
TUNING: Final = os.environ.get("GOUGI_TUNE") == "1"
"""Whether this is the tuning build."""

OPTIONS: Final[dict[str, Any]] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": os.environ.get("GOUGI_CHECK") == "1",
}
"""The options of every compiled function. None is inlined by hand: that doubles the compile time and gains no speed
(ENGINE.md rule 7)."""
fields.register(checked=OPTIONS["boundscheck"])
