"""A search that runs by node counts: at a count it waits until its driver lets it continue.

With it several searches advance side by side in virtual time and exchange their entries meanwhile, exactly and
repeatably, on any number of cores.
"""

from __future__ import annotations

import os
import threading

from worker.engine import InfoCallback, Limits, SearchResult
from worker.search.engine import NumbaEngine
from worker.search.state import NEVER


class Steps:
    """One search, on a thread of its own that runs only while `run_to` waits for it.

    Args:
        engine: with one search thread.
        on_info: called from another thread, while `run_to` waits.

    Raises:
        EngineError: the engine has several threads.
    """

    def __init__(self, engine: NumbaEngine, limits: Limits, on_info: InfoCallback | None = None) -> None:
        self._engine = engine
        self._limits = limits
        self._on_info = on_info
        record = self._record = engine.only_record()
        self._done, self._go = os.eventfd(0), os.eventfd(0)
        self._result: SearchResult | None = None
        self._error: Exception | None = None
        record.pause_at = 0
        record.pause_done, record.pause_go = self._done, self._go
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return self._result is not None or self._error is not None

    def run_to(self, nodes: int) -> bool:
        """Let it search until it has counted ``nodes`` (or slightly more, since not every node is checked). True: it is
        over.

        Raises:
            EngineError, or any other exception of the search.
        """
        if not self.over:
            self._record.pause_at = nodes
            os.eventfd_write(self._go, 1)
            os.eventfd_read(self._done)
        if self._error is not None:
            raise self._error
        return self.over

    def result(self) -> SearchResult:
        """The result of a finished search."""
        assert self._result is not None
        return self._result

    def close(self) -> None:
        """End the search, wherever it is. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if not self.over:
            self._engine.stop()
            self._record.pause_at = NEVER
            os.eventfd_write(self._go, 1)
        self._thread.join()
        self._record.pause_at = NEVER
        os.close(self._done)
        os.close(self._go)

    def _run(self) -> None:
        os.eventfd_read(self._go)
        try:
            self._result = self._engine.go(self._limits, self._on_info, by_clock=False)
        except Exception as error:
            self._error = error
        os.eventfd_write(self._done, 1)
