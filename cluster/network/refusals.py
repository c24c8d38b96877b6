"""Rate limit for log entries about rejected messages: a rejected sender tries again and again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

SPAN_MS: Final = 10_000
MOST: Final = 5
"""Different words of one sender."""
SENDERS: Final = 200


@dataclass(slots=True)
class Refusals:
    """Decides which rejections are logged. In a span of `SPAN_MS` milliseconds the same words are logged once, for each
    sender no more than `MOST` different ones, and no more than `SENDERS` senders. The end of the span logs how many
    more there were."""

    _began_ms: int = -SPAN_MS
    _told: dict[str, set[str]] = field(default_factory=dict)
    _untold: int = 0

    def refused(self, sender: str, why: str, now_ms: int) -> tuple[str, ...]:
        """The log entries that are due now that a message of ``sender`` (empty: unknown) was rejected for ``why``."""
        more = self.look(now_ms)
        if now_ms - self._began_ms >= SPAN_MS:
            self._began_ms = now_ms
            self._told.clear()
        told = self._told.get(sender, set())
        if why in told or len(told) >= MOST or (not told and len(self._told) >= SENDERS):
            self._untold += 1
            return more
        self._told[sender] = told | {why}
        return (*more, f"{sender}: {why}" if sender else why)

    def look(self, now_ms: int) -> tuple[str, ...]:
        """The log entries for a span that is over; to be asked now and then."""
        if not self._untold or now_ms - self._began_ms < SPAN_MS:
            return ()
        more = f"{self._untold} more within {SPAN_MS // 1000} s"
        self._untold = 0
        return (more,)
