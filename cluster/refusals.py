"""What is said of messages that were refused: who is refused tries again and again, and must not fill the log. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

SPAN_MS: Final = 10_000
MOST: Final = 20


@dataclass(slots=True)
class Refusals:
    """Of a span of `SPAN_MS` milliseconds the same words are told once, and of different ones the first `MOST`; how
    many more there were is told with the first refusal of the next span."""

    _began_ms: int = -SPAN_MS
    _told: set[str] = field(default_factory=set)
    _untold: int = 0

    def refused(self, why: str, now_ms: int) -> tuple[str, ...]:
        """What is to be logged now that a message was refused for ``why``."""
        more: tuple[str, ...] = ()
        if now_ms - self._began_ms >= SPAN_MS:
            if self._untold:
                more = (f"{self._untold} more in {(now_ms - self._began_ms) / 1000:.0f} s",)
            self._began_ms, self._untold = now_ms, 0
            self._told.clear()
        if why in self._told or len(self._told) >= MOST:
            self._untold += 1
            return more
        self._told.add(why)
        return (*more, why)
