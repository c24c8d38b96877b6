"""A listener that keeps all events, and lets a test wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cluster.api import Decision, Listener, Pondered, Progress, SearchListener


class Heard:
    """Use its `listener`; then await `until` or `decision`."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.progress: list[Progress] = []
        self.pondered: list[Pondered] = []
        self.events: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def listener(self) -> Listener:
        return Listener(self._on_event, SearchListener(self._on_progress, self._on_decision, self._on_pondered))

    def named(self, name: str) -> list[dict[str, object]]:
        """The fields of every event of that name."""
        return [fields for found, fields in self.events if found == name]

    def forget(self) -> None:
        """Forget all events except ``node_ready`` and the state of Ray."""
        self.decisions.clear()
        self.progress.clear()
        self.pondered.clear()
        self.events[:] = [event for event in self.events if event[0] in ("node_ready", "ray_started")]

    async def until(self, condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def decision(self, count: int = 1, timeout_s: float = 5.0) -> Decision:
        """The ``count``-th decision, as soon as it is there."""
        await self.until(lambda: len(self.decisions) >= count, timeout_s)
        return self.decisions[count - 1]

    def _on_progress(self, progress: Progress) -> None:
        self.progress.append(progress)
        self._changed.set()

    def _on_pondered(self, pondered: Pondered) -> None:
        self.pondered.append(pondered)
        self._changed.set()

    def _on_decision(self, decision: Decision) -> None:
        self.decisions.append(decision)
        self._changed.set()

    def _on_event(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((name, fields))
        self._changed.set()
