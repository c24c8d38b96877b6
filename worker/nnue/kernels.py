"""Kernels for this CPU: AVX2 vectors, else portable loops. Chosen before compilation; both have the same interface."""

from types import ModuleType
from typing import Final

from worker.jit import HAS_AVX2
from worker.nnue import portable, vector

kernels: Final[ModuleType] = vector if HAS_AVX2 else portable
