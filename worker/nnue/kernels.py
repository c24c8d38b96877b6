"""The kernels for this CPU: AVX2 vectors, else portable loops. Chosen before anything compiles; both face alike."""

from types import ModuleType
from typing import Final

from worker.jit import HAS_AVX2
from worker.nnue import portable, vector

kernels: Final[ModuleType] = vector if HAS_AVX2 else portable
