r"""The server's charge for a move beyond our own measurement: the transit of two lines, and our own lateness.

::

    server   sends the opponent's move ───────────── our line arrives, its echo leaves
                     \  down                        / up                \  down
    we                ── we read it ── thinking ── our line leaves       ── we read the echo

The charge is ``down + thinking + up``. We measure ``thinking``, and estimate the rest from ``up + down``, the time from
our line to its echo. The charge that the server reports is a bound: if it is more than our thinking plus the echo's
round trip, the opponent's move was delayed on its way, or lay unread in a busy machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

_REMEMBERED: Final = 48
"""Number of our moves whose delays count for the usual delay."""
_FEWEST: Final = 16
"""With fewer delays than this, the missing ones count as the start value."""
_FADING: Final = 0.985
"""The factor by which the worst delay shrinks with each further move: half after 46 moves."""
_BEYOND: Final = 1.4
"""A delay may exceed the worst so far by this factor."""

_OUTAGE_MS: Final = 2000
"""A delay longer than this (and than the usual one) is not typical of the connection: the excess is not expected again
in the next moves."""


class Delays:
    """The delays of one connection, in milliseconds: the usual one, and the worst to expect.

    The usual one is robust: one move in ten may take any time without changing it. It is for the soft time, after which
    lateness costs a second, and includes how late the searcher answers after the soft time. The worst one is for the
    hard limit, after which lateness costs the game; it includes how late we are after the hard limit, and decays
    slowly.
    """

    def __init__(self, start_ms: float) -> None:
        """
        Args:
            start_ms: the delay to expect before anything is measured; it is also the least that is ever expected.
        """
        self._start_ms = start_ms
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)
        self._all: list[float] = []
        self._worst_ms = 0.0
        self.usual_ms = start_ms
        self.middle_ms = start_ms / 2
        """The median delay: half of our moves are charged more than this beyond their aim."""

    def add(self, line_ms: float, after_soft_ms: float = 0.0, after_hard_ms: float = 0.0) -> None:
        """Add the delay of a move of ours.

        Args:
            line_ms: the charge beyond our measurement, or the charge that would have resulted.
            after_soft_ms: the time by which our line left after the soft time.
            after_hard_ms: the time by which it left after the hard limit.
        """
        self._recent.append(line_ms + after_soft_ms)
        self._all.append(line_ms)
        self._worst_ms = max(self._worst_ms * _FADING, line_ms + after_hard_ms)
        ordered = sorted([*self._recent, *self._missing(len(self._recent))])
        middle, high = (ordered[int(share * len(ordered))] for share in (0.5, 0.9))
        self.usual_ms = max(self._start_ms, high + (high - middle) / 2)
        self.middle_ms = middle

    def cost(self, cost: Callable[[float], float]) -> tuple[float, float, int]:
        """The cost of the delays of all moves, and of one more delay, worse than all of them.

        Args:
            cost: the cost of one delay, both in milliseconds.

        Returns:
            Mean, variance (ms²), and the number of delays; delays not yet measured count as the start value.
        """
        delays = [*self._all, *self._missing(len(self._all))]
        delays.append(max(delays) * _BEYOND)
        most = max(self.usual_ms, _OUTAGE_MS)
        costs = [cost(min(delay, most)) for delay in delays]
        import statistics  # not needed before the first move, and slow to import

        mean = statistics.fmean(costs)
        return mean, statistics.pvariance(costs, mean), len(costs)

    def _missing(self, known: int) -> list[float]:
        return [self._start_ms / 2] * (_FEWEST - known)

    @property
    def worst_ms(self) -> float:
        return max(self.usual_ms, self._worst_ms * _BEYOND)
