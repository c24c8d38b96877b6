"""The exchange of histories between nodes: when, and how many values. Pure.

A node sends the values that changed most, as many as its rate allows, and sets the values that it hears to means
(`worker.search.history_exchange`). At a million nodes a second hundreds of thousands of values change in a second, and
to look through them takes 1 to 2 ms of the node's core. So exchanges become rarer while a search goes on.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cluster.sharing.table import CHANGE_BYTES, TokenBucket
from worker.engine import HistoryChanges, SharesTable

LATEST_S: Final = 0.25
"""The most seconds between two exchanges. Up to that it is the time since the search began."""

NO_CHANGES: Final = HistoryChanges(np.empty(0, np.uint32), np.empty(0, np.int16))


class HistoryRounds:
    """One node's exchange. Times are in seconds of any clock that does not go back."""

    def __init__(self, engine: SharesTable) -> None:
        self._engine = engine
        self._budget = TokenBucket()
        self._heard: list[HistoryChanges] = []
        self._next = self._began = self._refilled = 0.0

    def hear(self, changes: HistoryChanges) -> None:
        """Another node sent these."""
        if len(changes.places):
            self._heard.append(changes)

    def exchange(self, now: float, began: float, limit: float) -> HistoryChanges:
        """The changes to send now, often none. What was heard is taken over with them.

        Args:
            began: when the search began.
            limit: bytes a second to each listener; 0: there is none.
        """
        self._budget.refill(now - self._refilled, limit)
        self._refilled = now
        if now < self._next and began == self._began:
            return NO_CHANGES
        self._began = began
        self._next = now + min(LATEST_S, now - began)
        changes = self._engine.take_changes(self._budget.room(CHANGE_BYTES))
        self._budget.spend(CHANGE_BYTES * len(changes.places))
        # Only now, so that what this node learned counts in the means.
        heard, self._heard = self._heard, []
        self._engine.absorb_changes(heard)
        return changes
