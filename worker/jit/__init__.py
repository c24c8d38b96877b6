"""The layer under every compiled function: its cache, the CPU features that it may use, memory, bits, vectors, time.

Import numba through this package only: the cache folder has to be set before the first function is decorated.
"""

from worker.jit.cache import cache_dir
from worker.jit.compiler import jit, jit_of
from worker.jit.options import HAS_AVX2, HAS_PEXT, HAS_VNNI

__all__ = ["HAS_AVX2", "HAS_PEXT", "HAS_VNNI", "cache_dir", "jit", "jit_of"]
