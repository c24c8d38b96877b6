"""The master's own few plies of search, for a move that nobody has an answer for: no node, no fallback, no line known.

It runs in the master's thread, at the moment when the move has to go out, so it is bounded to some milliseconds; its
network is the one that comes with the package, its table 1 MiB. One engine serves all searchers of a process.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from worker.engine import SearchInfo

if TYPE_CHECKING:
    from cluster.network.messages import Job
    from worker.search.engine import NumbaEngine

_log = logging.getLogger(__name__)

NODES: Final = 2000
"""Four to seven plies of a middle game; 3 to 6 ms of processor time."""
_MOST_MS: Final = 20
"""Time limit in ms, for a machine that is so busy that even this search takes long."""


class LastResort:
    """An engine that is loaded before it is needed. `search` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: NumbaEngine | None = None

    def load(self) -> None:
        """Make the engine, from code that is compiled already; takes half a second. More than once does no harm.

        Raises:
            EngineError: it cannot be made.
        """
        from worker.search.engine import NumbaEngine

        with self._lock:
            if self._engine is None:
                self._engine = NumbaEngine(hash_mb=1)

    def search(self, job: Job) -> SearchInfo | None:
        """Search the position of ``job`` for a few plies, by its rules and its moves to choose from.

        None where the engine is not loaded, or fails; never raises: a move has to go out.
        """
        with self._lock:
            if self._engine is None:
                return None
            try:
                self._engine.rules = job.rules(self._engine.rules)
                self._engine.set_position(job.sfen, job.moves)
                limits = replace(job.limits(), multipv=1, nodes=NODES, depth=None, movetime_ms=_MOST_MS)
                lines = self._engine.go(limits).lines
            except Exception:
                _log.exception("the last resort failed")
                return None
        return lines[0] if lines else None


LAST_RESORT: Final = LastResort()
"""The last resort of this process."""
