"""The other build that tests compile: for older CPUs and for tuning, in one."""

from __future__ import annotations

from typing import Final

OTHER: Final = {"GOUGI_CPU": "portable", "GOUGI_TUNE": "1"}
"""Environment of that build. Compiling it takes as long as the portable build alone: neither half affects the other."""
