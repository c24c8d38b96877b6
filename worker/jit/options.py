"""Compiler options, and the CPU paths, which Python chooses before anything compiles. Environment:

``GOUGI_CPU=portable``  code for a lower CPU level than this machine's (`worker.jit.cpu`)
``GOUGI_CHECK=1``  an index outside of an array is an error, for debugging
``GOUGI_WITHOUT=a,b``  parts of the search to leave out, for measuring them (`worker.search.parts`)
``GOUGI_PARAMETERS=A=1,B=2``  other values of search parameters, for measuring them (`worker.search.parameters`)
``GOUGI_TUNE=1``  the tuning build, in which they change while it runs (`worker.search.tuning`)
"""

from __future__ import annotations

import os
from typing import Any, Final

from worker.jit import fields
from worker.jit.cpu import LEVEL

_LEVEL: Final = "" if LEVEL is None else LEVEL.name
HAS_VNNI: Final = _LEVEL in ("avxvnni", "avx512vnni")
"""Whether four products of 8 bits may be summed in one instruction (`worker.jit.simd.vdpbusd`)."""
HAS_AVX2: Final = HAS_VNNI or _LEVEL == "avx2"
"""Whether to compile 256-bit integer vectors: on a CPU without them LLVM would end the process."""
HAS_PEXT: Final = HAS_AVX2

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
