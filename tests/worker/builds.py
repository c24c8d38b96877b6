"""The other build that tests compile: that of lesser CPUs and that of tuning, in one."""

from __future__ import annotations

from typing import Final

OTHER: Final = {"GOUGI_CPU": "portable", "GOUGI_TUNE": "1"}
"""Environment of that build. Compiling it takes as long as the portable one alone: neither half looks at the other."""
