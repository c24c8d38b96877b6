"""The decorator of this package's compiled code. It has a folder of its own in the cache, so that who uses no network
of this family neither compiles it nor notices when it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from worker.jit import jit_of

_HERE: Final = Path(__file__).parent
COMPILED: Final = ("kernel.py", "leb128.py", "portable.py", "state.py", "vector.py")
"""Files that compiled code is in, or takes a constant from."""

jit, FOLDER = jit_of("sfnn", [_HERE / name for name in COMPILED])
