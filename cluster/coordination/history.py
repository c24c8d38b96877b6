"""The history of one search or one node: the coordinator's last events and instructions, for whoever looks for a fault.

Without reports, heartbeats, ticks and what is published, which come by the hundred.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from cluster.api import Pondered, Progress
from cluster.coordination.events import Event, Instruction, LogEvent, Tick

_REMEMBERED: Final = 4000
"""Events and instructions: some ten searches of 64 nodes."""


class History:
    """The last events and instructions of a coordinator."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Event | Instruction]] = deque(maxlen=_REMEMBERED)

    def add(self, at_ms: int, what: Event | Instruction) -> None:
        """Remember it. ``at_ms``: on the coordinator's clock."""
        if not isinstance(what, Tick | Progress | Pondered):
            self._kept.append((at_ms, what))

    def of(self, key: int | str | None) -> list[tuple[int, Event | Instruction]]:
        """What concerned the search or the node of that id, oldest first, as far as it is remembered; None: all."""
        return [(at_ms, what) for at_ms, what in self._kept if key is None or key in _about(what)]


def _about(what: Event | Instruction) -> Iterator[object]:
    """The ids of the search and of the nodes that it concerns."""
    if isinstance(what, LogEvent):
        yield from (what.fields.get("search_id"), what.fields.get("node"))
    for part in (what, *(getattr(what, name, None) for name in ("request", "job", "message"))):
        yield from (getattr(part, "search_id", None), getattr(part, "node_id", None))
