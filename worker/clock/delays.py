r"""The server's charge for a move beyond our own measurement: the way of two lines, and our own lateness.

::

    server   sends the opponent's move ───────────── our line arrives, its echo leaves
                     \  down                        / up                \  down
    we                ── we read it ── thinking ── our line leaves       ── we read the echo

Charged is ``down + thinking + up``. We see ``thinking``, and of the rest an estimate of the same kind: ``up + down``,
from our line to its echo. What the server says that it charged is a bound: where that is more than we thought and the
echo took, the opponent's move was long on its way, or lay unread in a busy machine.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable
from typing import Final

_REMEMBERED: Final = 48
"""Own moves whose delays count for the usual one."""
_FEWEST: Final = 16
"""The number of delays below which the missing ones count as the start value."""
_FADING: Final = 0.985
"""The part of the worst delay that is left after each further move: half of it after 46."""
_BEYOND: Final = 1.4
"""A line may do worse than ever before, by this factor."""

_OUTAGE_MS: Final = 2000
"""A delay longer than this (and than the usual one) is no habit of the line: what it was longer is not expected again
from move to move."""


class Delays:
    """The delays of one connection, in milliseconds: the usual one, and the worst to expect.

    The usual one is robust: one move of ten may have taken any time and does not change it. It is for aiming, where to
    be late costs a second, and counts how late the searcher is after the soft time. The worst one is for the hard
    limit, where to be late costs the game; it counts how late we are after that, and forgets slowly.
    """

    def __init__(self, start_ms: float) -> None:
        """
        Args:
            start_ms: the delay to expect before anything is measured, and the least ever expected.
        """
        self._start_ms = start_ms
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)
        self._all: list[float] = []
        self._worst_ms = 0.0
        self.usual_ms = start_ms
        self.middle_ms = start_ms / 2
        """The median: what a move is charged beyond what was aimed at, as often more as less."""

    def add(self, line_ms: float, after_soft_ms: float = 0.0, after_hard_ms: float = 0.0) -> None:
        """Add the delay of a move of ours.

        Args:
            line_ms: so much more was charged than was measured, or would have been.
            after_soft_ms: so long after the moment that was aimed at did our line leave.
            after_hard_ms: so long after the hard limit.
        """
        self._recent.append(line_ms + after_soft_ms)
        self._all.append(line_ms)
        self._worst_ms = max(self._worst_ms * _FADING, line_ms + after_hard_ms)
        ordered = sorted([*self._recent, *self._missing(len(self._recent))])
        middle, high = (ordered[int(share * len(ordered))] for share in (0.5, 0.9))
        self.usual_ms = max(self._start_ms, high + (high - middle) / 2)
        self.middle_ms = middle

    def cost(self, cost: Callable[[float], float]) -> tuple[float, float, int]:
        """The cost of the delays of all moves, and of one more that is worse than all of them.

        Args:
            cost: of one delay, both in milliseconds.

        Returns:
            Mean, variance (ms²), and of how many: what was not measured yet counts as the start value does.
        """
        delays = [*self._all, *self._missing(len(self._all))]
        delays.append(max(delays) * _BEYOND)
        most = max(self.usual_ms, _OUTAGE_MS)
        costs = [cost(min(delay, most)) for delay in delays]
        mean = statistics.fmean(costs)
        return mean, statistics.pvariance(costs, mean), len(costs)

    def _missing(self, known: int) -> list[float]:
        return [self._start_ms / 2] * (_FEWEST - known)

    @property
    def worst_ms(self) -> float:
        return max(self.usual_ms, self._worst_ms * _BEYOND)
