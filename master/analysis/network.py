"""The network of an analysis, by its content: losses measured with different ones do not compare."""

from __future__ import annotations

import hashlib
from pathlib import Path


def network_hash(eval_file: str) -> str:
    """The first 16 hex digits of the SHA-256 of a network file; empty: of the one that ships.

    Raises:
        OSError: the file cannot be read.
    """
    from worker.nnue.network import default_file

    file = Path(eval_file) if eval_file else default_file()
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
