"""`jit` for the laboratory's compiled code, with a cache separate from the searcher's.

So a change of the trainer does not make players compile again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from worker.jit import jit_of

_LAB: Final = Path(__file__).parent
SOURCES: Final = (
    *(_LAB / "selfplay" / f"{name}.py" for name in ("deepen", "game", "state", "walk")),
    *(_LAB / "training" / f"{name}.py" for name in ("kernels", "replay")),
)
"""Every file whose functions or constants the laboratory's compiled code uses."""

jit, FOLDER = jit_of("lab", SOURCES)
"""FOLDER: its name within `worker.jit.cache_dir`."""
