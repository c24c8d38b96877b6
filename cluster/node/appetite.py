"""Whether a node gets the core that it searches on. Pure.

A search is to have its core whenever it can run. Where its thread had to wait for one clearly often over some seconds,
others want the same cores: more nodes than the machine has, a backup, somebody else's work.
"""

from __future__ import annotations

from typing import Final

_LOOKED_AT_S: Final = 3.0
_ENOUGH: Final = 0.75
_AGAIN_S: Final = 60.0


class Appetite:
    """Adds up how long one thread's searches ran, and how long they waited for a core."""

    def __init__(self) -> None:
        self._ran_s = self._waited_s = 0.0
        self._quiet_until_s = 0.0

    def note(self, ran_s: float, waited_s: float, now_s: float) -> int | None:
        """A search is over. The percentage of a core that the last ones had, where it is worth telling: it was too
        little over 3 s, and nothing was told within the last minute.

        Args:
            ran_s: how long its thread ran.
            waited_s: how long it could have run, and had no core.
            now_s: any steady clock.
        """
        self._ran_s += ran_s
        self._waited_s += waited_s
        wanted_s = self._ran_s + self._waited_s
        if wanted_s < _LOOKED_AT_S:
            return None
        share = self._ran_s / wanted_s
        self._ran_s = self._waited_s = 0.0
        if share >= _ENOUGH or now_s < self._quiet_until_s:
            return None
        self._quiet_until_s = now_s + _AGAIN_S
        return round(100 * share)
