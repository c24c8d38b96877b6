"""The levels of CPUs for which code is compiled, so that compiled code serves every CPU of a level.

A level is one of LLVM's own CPUs with the features that all its real ones have. Code for the very CPU of the machine
was not faster (docs/notebook/speed.md). An architecture other than x86-64 has no levels: there the code is for the
machine's own CPU.

numba reads the CPU's name and features from its configuration, which is set here for the whole process.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import llvmlite.binding as llvm
import numba


@dataclass(frozen=True, slots=True)
class Level:
    """A CPU level.

    Args:
        name: as in ``GOUGI_CPU``.
        cpu: LLVM's name for it.
        more: features that it has besides those of ``cpu``, in LLVM's notation.
        needed: all that a CPU of the level has and one below lacks.
    """

    name: str
    cpu: str
    more: str
    needed: frozenset[str]

    @property
    def target(self) -> str:
        """The CPU and the features, which with the system decide what compiled code is."""
        return f"{self.cpu}{self.more}"

    def serves(self, features: Mapping[str, bool]) -> bool:
        """Whether a CPU with these features can run its code."""
        return all(features.get(feature) for feature in self.needed)


_V2: Final = frozenset({"cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"})
_V3: Final = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4: Final = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

LEVELS: Final = (
    Level("avx512vnni", "x86-64-v4", "+avx512vnni", _V4 | {"avx512vnni"}),
    Level("avxvnni", "x86-64-v3", "+avxvnni", _V3 | {"avxvnni"}),
    Level("avx2", "x86-64-v3", "", _V3),
    Level("portable", "x86-64-v2", "", _V2),
    Level("oldest", "x86-64", "", frozenset()),
)
"""The best first. With ``portable`` and ``oldest`` the code has neither AVX2 nor PEXT."""


def level_of(machine: str, features: Mapping[str, bool], wanted: str = "") -> Level | None:
    """The best level of a CPU, but none above ``wanted``; None: its architecture has none.

    Args:
        machine: the architecture, as `platform.machine` names it.
        features: of the CPU, as llvmlite names them.

    Raises:
        ImportError: there is no level of that name, or code of it cannot run here.
    """
    if machine.lower() not in ("x86_64", "amd64"):
        return None
    names = [level.name for level in LEVELS]
    if not wanted:
        return next(level for level in LEVELS if level.serves(features))
    if wanted not in names:
        raise ImportError(f"GOUGI_CPU={wanted}: expected one of {', '.join(names)}")
    level = LEVELS[names.index(wanted)]
    if not level.serves(features):
        missing = ", ".join(sorted(feature for feature in level.needed if not features.get(feature)))
        raise ImportError(f"GOUGI_CPU={wanted}: this CPU lacks {missing}")
    return level


FEATURES: Final[Mapping[str, bool]] = dict(llvm.get_host_cpu_features())
LEVEL: Final = level_of(platform.machine(), FEATURES, os.environ.get("GOUGI_CPU", "").lower())
if LEVEL is not None:
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = LEVEL.cpu, LEVEL.more
TARGET: Final = f"{llvm.get_host_cpu_name()} {sorted(FEATURES.items())}" if LEVEL is None else LEVEL.target
"""What compiled code is compiled for, besides the system."""
