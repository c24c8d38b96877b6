"""The fleet's speed, from what it searches. Pure."""

from __future__ import annotations

from typing import Final

_SHARE: Final = 0.2
"""Weight of a new measurement in the mean."""
_LEAST_MS: Final = 200
"""A search shorter than this measures the start of a search, not its speed."""


class Speed:
    """A moving mean of nodes a second of all nodes together."""

    def __init__(self, nps: float | None = None) -> None:
        self.nps = nps
        """None where nothing is known yet."""

    def searched(self, nodes: int, elapsed_ms: int) -> bool:
        """Take a search into account. Whether the mean is another one now."""
        if elapsed_ms < _LEAST_MS or nodes <= 0:
            return False
        nps = nodes * 1000 / elapsed_ms
        self.nps = nps if self.nps is None else self.nps + _SHARE * (nps - self.nps)
        return True
