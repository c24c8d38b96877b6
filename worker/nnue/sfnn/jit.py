"""The decorator of this package's compiled code."""

from pathlib import Path
from typing import Final

from worker.nnue.apart import Apart

_HERE: Final = Path(__file__).parent
COMPILED: Final = ("kernel.py", "leb128.py", "portable.py", "state.py", "vector.py")
"""Files that contain compiled code, or constants that compiled code uses."""

APART: Final = Apart("sfnn", [_HERE / name for name in COMPILED])
jit: Final = APART.jit
